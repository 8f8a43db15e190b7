class Heapdump < Formula
  desc "Command-line heap dump analyzer"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/heapdump-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/heapdump-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@x86_64-apple-darwin@"
    end
  end
  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/heapdump-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/heapdump-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "heapdump"
    man1.install Dir["man1/*"]
    bash_completion.install "completions/heapdump.bash" => "heapdump"
    zsh_completion.install "completions/heapdump.zsh" => "_heapdump"
    fish_completion.install "completions/heapdump.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/heapdump --version")
  end
end
