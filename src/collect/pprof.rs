//! pprof: the heap profile that a program serves over HTTP, as `net/http/pprof` of Go does. One GET; the program goes on.

use std::io::Write;
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use flate2::write::GzDecoder;

use super::CollectPlan;
use super::http::{read_more, send_request};
use super::ports::connect_tcp;
use super::process_watch::DEFAULT_SILENCE_LIMIT;
use super::refusal::{Refusal, RefusalCode};
use super::request::{DumpOutcome, DumpRequest};

/// Where Go serves it.
const DEFAULT_PATH: &str = "debug/pprof/heap";

/// Returns true for an address with a path that is no inspector's.
pub(super) fn is_profile_url(url: &str) -> bool {
    let path = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
    !path.is_empty() && !path.starts_with("json")
}

/// Takes the profile. Error: `no-target`, `protocol` for what is no profile, `incomplete` for one that breaks off, and those of
/// the connection.
pub(super) fn dump(mut request: DumpRequest<'_>) -> Result<DumpOutcome, Refusal> {
    let url = request.options.inspector_url.clone().unwrap_or_default();
    let limit = request.options.silence_limit.unwrap_or(DEFAULT_SILENCE_LIMIT);
    let wrong = || {
        let text = format!("{url}: write it as http://127.0.0.1:6060/{DEFAULT_PATH}");
        Refusal::new(RefusalCode::NoTarget, text).with_hint("of https: curl -sS URL -o heap.pb.gz")
    };
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let path = if path.is_empty() { DEFAULT_PATH } else { path };
    let text = format!("the heap profile at http://{host}/{path}: one GET, nothing stands still");
    request.seek_approval(CollectPlan { text, expected_pause: Duration::ZERO, risk: None })?;
    let mut stream = Err(wrong());
    for address in host.to_socket_addrs().map_err(|_| wrong())? {
        stream = connect_tcp(None, address);
        if stream.is_ok() {
            break;
        }
    }
    let stream = stream?;
    // Version 1.0 has bodies without chunks.
    let head = send_request(&stream, host, &format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n"), limit)?;
    if head.status() != Some(200) {
        let status = head.head_text.lines().next().unwrap_or_default();
        return Err(Refusal::new(RefusalCode::RefusedByTarget, format!("http://{host}/{path} answers: {status}")));
    }
    let mut left = head.header("content-length").and_then(|length| length.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let (mut file, mut bytes, mut last_bytes_at) = (request.file, head.body_start, Instant::now());
    // The file is packed where its name says so, as all dumps are.
    let (mut unpacker, mut start) = (GzDecoder::new(Vec::new()), Vec::new());
    loop {
        bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= bytes.len() as u64;
        if start.len() < 2 {
            start.extend_from_slice(&bytes);
            if !start.starts_with(&[0x1f, 0x8b][..start.len().min(2)]) {
                let foreign = Refusal::protocol(host, "pprof (gzip)", &start);
                return Err(foreign
                    .with_hint(format!("a text is read too: curl -sS 'http://{host}/{path}' | heapdump stats -")));
            }
        }
        let is_broken = unpacker.write_all(&bytes).is_err();
        file.write(unpacker.get_ref())?;
        unpacker.get_mut().clear();
        if is_broken {
            break;
        }
        if !bytes.is_empty() {
            last_bytes_at = Instant::now();
        }
        bytes.clear();
        if left == 0 || !read_more(&stream, &mut bytes, host, last_bytes_at, limit)? {
            break;
        }
    }
    // The checksum at its end shows that it is all there.
    let is_whole = unpacker.try_finish().is_ok();
    file.write(unpacker.get_ref())?;
    let incomplete = || Refusal::new(RefusalCode::Incomplete, "the profile breaks off");
    Ok((file, (!is_whole).then(incomplete)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_a_path_are_of_profiles() {
        for url in ["http://127.0.0.1:6060/debug/pprof/heap", "http://[::1]:6060/debug/pprof/allocs?gc=1"] {
            assert!(is_profile_url(url), "{url}");
        }
        for url in ["http://127.0.0.1:9229", "http://127.0.0.1:9229/", "http://x:1/json", "ws://127.0.0.1:9229/a/b"] {
            assert!(!is_profile_url(url), "{url}");
        }
    }
}
