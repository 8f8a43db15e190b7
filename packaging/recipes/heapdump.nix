# nix-build -E '(import <nixpkgs> { }).callPackage ./heapdump.nix { }'
{ lib, stdenvNoCC, fetchurl, installShellFiles }:

let
  version = "@VERSION@";
  sources = {
    x86_64-linux = { target = "x86_64-unknown-linux-musl"; sha256 = "@x86_64-unknown-linux-musl@"; };
    aarch64-linux = { target = "aarch64-unknown-linux-musl"; sha256 = "@aarch64-unknown-linux-musl@"; };
    x86_64-darwin = { target = "x86_64-apple-darwin"; sha256 = "@x86_64-apple-darwin@"; };
    aarch64-darwin = { target = "aarch64-apple-darwin"; sha256 = "@aarch64-apple-darwin@"; };
  };
  source = sources.${stdenvNoCC.hostPlatform.system};
in
stdenvNoCC.mkDerivation {
  pname = "heapdump";
  inherit version;
  src = fetchurl {
    url = "@REPOSITORY@/releases/download/v${version}/heapdump-${version}-${source.target}.tar.gz";
    inherit (source) sha256;
  };
  nativeBuildInputs = [ installShellFiles ];
  installPhase = ''
    install -Dm755 heapdump $out/bin/heapdump
    installManPage man1/*
    installShellCompletion completions/heapdump.{bash,fish,zsh}
  '';
  meta = {
    description = "Command-line heap dump analyzer";
    homepage = "@REPOSITORY@";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "heapdump";
    platforms = builtins.attrNames sources;
    sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];
  };
}
