# Installs a formula with the methods of Homebrew that it uses, without Homebrew: formula.rb FORMULA ARCHIVE PREFIX
#
# The archive must have the digest that the formula has for Linux on x86_64.

require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

class Pathname
  def install(*files)
    mkpath
    files.flatten.each do |file|
      renamed = file.is_a?(Hash) ? file : { file => File.basename(file) }
      renamed.each { |from, to| FileUtils.mv(from, self / to) }
    end
  end
end

class Formula
  class << self
    attr_reader :values

    %w[desc homepage version license url sha256].each do |name|
      define_method(name) do |value = nil|
        @values ||= {}
        return @values[name] if value.nil?

        @values[name] = value
      end
    end

    def on_linux = yield
    def on_intel = yield
    def on_macos; end
    def on_arm; end

    def test(&block)
      define_method(:run_test, &block)
    end
  end

  def initialize(prefix)
    @prefix = Pathname(prefix)
  end

  def version = self.class.version
  def bin = @prefix / "bin"
  def man1 = @prefix / "share/man/man1"
  def bash_completion = @prefix / "etc/bash_completion.d"
  def zsh_completion = @prefix / "share/zsh/site-functions"
  def fish_completion = @prefix / "share/fish/vendor_completions.d"
  def doc = @prefix / "share/doc/larder"

  def shell_output(line)
    output = `#{line}`
    raise "`#{line}` failed" unless $?.success?

    output
  end

  def assert_match(expected, text)
    raise "#{expected} is not in #{text}" unless text.include?(expected)
  end
end

path, archive, prefix = ARGV
load path
raise "the formula names another file" unless Larder.url.end_with?("/#{File.basename(archive)}")
raise "the archive has another digest" unless Digest::SHA256.file(archive).hexdigest == Larder.sha256
formula = Larder.new(prefix)
Dir.mktmpdir do |folder|
  system("tar", "--zstd", "-xf", archive, "--strip-components=1", "-C", folder, exception: true)
  Dir.chdir(folder) { formula.install }
end
formula.run_test
puts "installed #{Larder.url}"
