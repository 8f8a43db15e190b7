//! Finding an inspector, and what is behind it.

use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};

use rustix::fs::OFlags;

use super::http::{DEFAULT_INSPECTOR_PORT, GET_TIMEOUT, Inspector, fetch_targets, node_options_of, probe_inspector_at};
use super::protocol::TargetInfo;
use crate::collect::ports::listening_addresses;
use crate::collect::private_folder::{open_below, open_in_root, open_working_folder};
use crate::collect::process::Process;
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::sort;

/// Ports that the command line and the environment name, and the usual one.
fn configured_ports(process: &Process) -> Vec<u16> {
    const PORT_OPTIONS: [&str; 3] = ["--inspect", "--debug-port", "--remote-debugging-port"];
    let words = node_options_of(process);
    let is_option = |word: &str| PORT_OPTIONS.iter().any(|option| word.starts_with(option));
    let named = (0..words.len()).filter(|&at| is_option(&words[at]) || at > 0 && is_option(&words[at - 1]));
    let ports = named.filter_map(|at| words[at].rsplit(['=', ':']).next()?.parse().ok());
    ports.chain([DEFAULT_INSPECTOR_PORT]).collect()
}

/// The inspector of a process, if it has one open: of the ports that it listens on, those that are named first. `all` asks
/// the others too: a server of another kind sees one GET.
pub(crate) fn find_inspector(process: &Process, all: bool) -> Option<Inspector> {
    let named = configured_ports(process);
    let mut addresses = listening_addresses(process);
    let has_profile = port_in_browser_profile(process);
    let is_named = |address: &SocketAddr| {
        // `--inspect=0` is any port.
        let is_any = named.contains(&0) && address.ip().is_loopback();
        is_any || named.contains(&address.port()) || has_profile == Some(address.port())
    };
    sort::rows_by_key(&mut addresses, |address| !is_named(address));
    let tried = addresses.iter().filter(|address| all || is_named(address));
    tried.copied().find_map(|address| probe_inspector_at(Some(process), address, GET_TIMEOUT).ok())
}

/// Chromium writes its port into its profile's folder, which is its user's to fill: a file, and a short one.
fn port_in_browser_profile(process: &Process) -> Option<u16> {
    const MAX_PORT_FILE_BYTES: u64 = 64;
    let words = process.arguments();
    let folder = words.iter().find_map(|word| word.strip_prefix("--user-data-dir="))?;
    let (path, flags) = (format!("{folder}/DevToolsActivePort"), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW);
    let file = match folder.starts_with('/') {
        true => open_in_root(process, &path, flags),
        false => open_below(&open_working_folder(process).ok()?, &path, flags),
    };
    let file = File::from(file.ok()?);
    let mut text = String::new();
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.take(MAX_PORT_FILE_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next()?.parse().ok()
}

/// Kind, title and address of what is behind an inspector.
pub(crate) fn list_target_fields(url: &str) -> Result<Vec<(String, String, String)>, Refusal> {
    let (addresses, _) = parse_url(url)?;
    let targets = first_answer_of(&addresses, |address| fetch_targets(None, address))?;
    Ok(targets.into_iter().map(|target| (target.kind, target.title, target.url)).collect())
}

/// Asks the addresses of a name one after another; `localhost` has two, and who listens on one need not on the other.
pub(super) fn first_answer_of<T>(
    addresses: &[SocketAddr],
    ask: impl Fn(SocketAddr) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let mut refusal = None;
    for &address in addresses {
        match ask(address) {
            Ok(answer) => return Ok(answer),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| Refusal::new(RefusalCode::NoTarget, "no address")))
}

const MAX_LISTED_TARGETS: usize = 10;

/// The one that is meant: by number from 1, by a part of its title or address, or the only one.
pub(super) fn choose_target(targets: &[TargetInfo], asked: Option<&str>) -> Result<TargetInfo, Refusal> {
    let none = |text: String| Refusal::new(RefusalCode::NoTarget, text);
    let listed = || {
        let lines = targets.iter().enumerate().take(MAX_LISTED_TARGETS);
        let lines = lines.map(|(at, target)| format!("{} {} \"{}\" {}", at + 1, target.kind, target.title, target.url));
        let more = match targets.len().saturating_sub(MAX_LISTED_TARGETS) {
            0 => String::new(),
            more => format!("; {more} more: collect --list --url"),
        };
        format!("--target N or a part of a title: {}{more}", lines.collect::<Vec<_>>().join("; "))
    };
    let matches = |at: usize, target: &TargetInfo| match asked {
        Some(asked) => match asked.parse::<usize>() {
            Ok(number) => at + 1 == number,
            Err(_) => target.title.contains(asked) || target.url.contains(asked),
        },
        None => target.kind == "node" || target.kind == "page",
    };
    let found: Vec<&TargetInfo> =
        targets.iter().enumerate().filter(|(at, target)| matches(*at, target)).map(|(_, target)| target).collect();
    match found[..] {
        _ if targets.is_empty() => Err(none("the inspector lists no page or worker".into())),
        [] => Err(none("the inspector lists no such page or worker".into()).with_hint(listed())),
        [only] if only.web_socket_debugger_url.is_empty() => {
            Err(none(format!("another program is at \"{}\": its developer tools?", only.title)))
        }
        [only] => Ok(only.clone()),
        _ => Err(none(format!("the inspector lists {} pages and workers", found.len())).with_hint(listed())),
    }
}

/// `http://HOST:PORT`, `ws://HOST:PORT/PATH`: the addresses, and the path of a websocket.
pub(super) fn parse_url(url: &str) -> Result<(Vec<SocketAddr>, Option<String>), Refusal> {
    let wrong = || Refusal::new(RefusalCode::NoTarget, format!("--url {url}: write it as http://127.0.0.1:9229"));
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let addresses = host.to_socket_addrs().map_err(|_| wrong())?.collect();
    match scheme {
        "http" => Ok((addresses, None)),
        "ws" => Ok((addresses, Some(format!("/{path}")))),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_an_address_and_perhaps_a_path() {
        let address: SocketAddr = "127.0.0.1:9229".parse().expect("an address");
        for url in ["http://127.0.0.1:9229", "127.0.0.1:9229", "http://127.0.0.1:9229/json"] {
            assert_eq!(parse_url(url).expect(url), (vec![address], None));
        }
        assert_eq!(parse_url("ws://127.0.0.1:9229/a/b").expect("a path"), (vec![address], Some("/a/b".into())));
        for url in ["", "http://", "https://127.0.0.1:1", "127.0.0.1"] {
            assert_eq!(parse_url(url).expect_err(url).code, RefusalCode::NoTarget);
        }
    }

    #[test]
    fn each_address_of_a_name_is_tried() {
        let addresses: Vec<SocketAddr> =
            ["[::1]:1", "127.0.0.1:2"].map(|text| text.parse().expect("an address")).to_vec();
        let answer = |address: SocketAddr| match address.port() {
            1 => Err(Refusal::new(RefusalCode::System, "refused")),
            port => Ok(port),
        };
        assert_eq!(first_answer_of(&addresses, answer).expect("the second"), 2);
        assert_eq!(first_answer_of(&addresses[..1], answer).expect_err("none").code, RefusalCode::System);
    }

    #[test]
    fn a_target_is_chosen_when_there_is_one_or_it_is_named() {
        let target = |kind: &str, title: &str| TargetInfo {
            kind: kind.into(),
            title: title.into(),
            url: format!("file:///{title}"),
            web_socket_debugger_url: "ws://x/1".into(),
        };
        let page = [target("service_worker", "w"), target("page", "a")];
        assert_eq!(choose_target(&page, None).expect("one").title, "a");
        assert_eq!(choose_target(&page, Some("1")).expect("the first").title, "w");
        let pages = [target("page", "a"), target("page", "b")];
        assert_eq!(choose_target(&pages, Some("b")).expect("by title").title, "b");
        for (targets, asked) in [(&pages[..], None), (&[], None), (&pages[..], Some("c")), (&pages[..], Some("3"))] {
            assert_eq!(choose_target(targets, asked).expect_err("none").code, RefusalCode::NoTarget);
        }
    }
}
