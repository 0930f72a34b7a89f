# Written by `cargo xtask dist`, for a tap.
class Larder < Formula
  desc "MCP server for files, notes, git history and other resources"
  homepage "https://larder.dev"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "RELEASE/larder-VERSION-aarch64-apple-darwin.tar.zst"
      sha256 "DIGEST-aarch64-apple-darwin"
    end
    on_intel do
      url "RELEASE/larder-VERSION-x86_64-apple-darwin.tar.zst"
      sha256 "DIGEST-x86_64-apple-darwin"
    end
  end

  on_linux do
    on_arm do
      url "RELEASE/larder-VERSION-aarch64-unknown-linux-gnu.tar.zst"
      sha256 "DIGEST-aarch64-unknown-linux-gnu"
    end
    on_intel do
      url "RELEASE/larder-VERSION-x86_64-unknown-linux-gnu.tar.zst"
      sha256 "DIGEST-x86_64-unknown-linux-gnu"
    end
  end

  def install
    bin.install "bin/larder"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/larder.bash" => "larder"
    zsh_completion.install "completions/larder.zsh" => "_larder"
    fish_completion.install "completions/larder.fish"
    doc.install "THIRD-PARTY-LICENSES.txt", "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/larder --version")
  end
end
