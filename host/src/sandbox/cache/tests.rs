use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::sandbox::engine;
use crate::stamp::Stamp;

/// The least component there is. Cache and seal are the same for all.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

struct Folder {
    folder: TempDir,
    code: Vec<u8>,
}

impl Folder {
    fn new() -> Self {
        let code = engine::for_compiling().unwrap().precompile_component(EMPTY).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), code }
    }

    fn config(&self, size: u64, age: Duration) -> Config {
        Config { place: Place::Named(self.folder.path().into()), size, age }
    }

    fn open(&self) -> Cache {
        let age = Duration::from_secs(3600);
        Cache::open(&self.config(1 << 30, age), &engine::for_compiling().unwrap()).unwrap()
    }

    /// A cache with an entry, and the digest under which it is found.
    fn filled(&self, name: &[u8]) -> (Cache, Digest) {
        let (cache, digest) = (self.open(), Digest::of(name));
        self.keep(&cache, digest);
        (cache, digest)
    }

    fn keep(&self, cache: &Cache, digest: Digest) {
        let mut draft = cache.draft().unwrap();
        draft.write_all(&self.code).unwrap();
        cache.keep(digest, draft).unwrap();
    }

    /// What must not be used: it is not found, it is gone, and a new one takes its place.
    fn is_refused(&self, cache: &Cache, digest: Digest) {
        let code = cache.code(&cache.name(digest));
        assert!(code.symlink_metadata().is_ok(), "there is nothing to refuse");
        assert!(cache.find(digest).is_none());
        assert!(code.symlink_metadata().is_err(), "it is still there");
        self.keep(cache, digest);
        assert!(cache.find(digest).is_some());
    }

    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn an_entry_outlives_the_process_that_made_it() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    drop(cache);
    assert!(folder.open().find(digest).is_some());
    assert!(folder.open().find(Digest::of(b"b")).is_none());
    assert_eq!(folder.files().len(), 3, "code, seal and key: {:?}", folder.files());
}

#[test]
fn changed_code_is_not_used() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.code(&cache.name(digest));
    for place in [0, folder.code.len() / 2, folder.code.len() - 1] {
        let mut code = folder.code.clone();
        code[place] ^= 1;
        std::fs::write(&path, code).unwrap();
        folder.is_refused(&cache, digest);
    }
}

#[test]
fn cut_off_extended_and_empty_code_is_not_used() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.code(&cache.name(digest));
    let longer = [folder.code.as_slice(), b"\0"].concat();
    for code in [&folder.code[..folder.code.len() - 1], &folder.code[..1], b"", &longer] {
        std::fs::write(&path, code).unwrap();
        folder.is_refused(&cache, digest);
    }
}

#[test]
fn a_seal_that_is_missing_or_odd_is_none() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.seal(&cache.name(digest));
    std::fs::remove_file(&path).unwrap();
    folder.is_refused(&cache, digest);
    let seal = std::fs::read(&path).unwrap();
    for odd in [&seal[..31], b"", &[seal.as_slice(), b"\0"].concat(), &[0; 32]] {
        std::fs::write(&path, odd).unwrap();
        folder.is_refused(&cache, digest);
    }
}

#[test]
fn links_pipes_and_folders_are_not_used() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.code(&cache.name(digest));
    let elsewhere = folder.folder.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    folder.is_refused(&cache, digest);
    assert_eq!(std::fs::read(&elsewhere).unwrap(), folder.code, "what a link leads to is not ours to touch");
    std::fs::remove_file(&path).unwrap();
    // A pipe that nobody writes to must not hold us up.
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    folder.is_refused(&cache, digest);
}

#[test]
fn what_others_can_write_is_not_used() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.code(&cache.name(digest));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    folder.is_refused(&cache, digest);
}

#[test]
fn an_entry_of_another_component_is_not_used() {
    let folder = Folder::new();
    let (cache, a) = folder.filled(b"a");
    let b = Digest::of(b"b");
    for path in [Cache::code, Cache::seal] {
        std::fs::copy(path(&cache, &cache.name(a)), path(&cache, &cache.name(b))).unwrap();
    }
    folder.is_refused(&cache, b);
}

#[test]
fn an_entry_of_another_engine_is_not_used() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(false);
    let other = wasmtime::Engine::new(&config).unwrap();
    let elsewhere = Cache::open(&folder.config(1 << 30, Duration::from_secs(3600)), &other).unwrap();
    assert!(elsewhere.find(digest).is_none(), "it has another name");
    assert!(cache.find(digest).is_some(), "and it is still there for those who can use it");
    // Even with the right name and a true seal.
    let mut draft = cache.draft().unwrap();
    draft.write_all(&other.precompile_component(EMPTY).unwrap()).unwrap();
    cache.keep(digest, draft).unwrap();
    folder.is_refused(&cache, digest);
}

#[test]
fn with_another_key_nothing_is_used() {
    let folder = Folder::new();
    for spoil in [
        |key: &Path| std::fs::write(key, [7; 64]).unwrap(),
        |key: &Path| std::fs::write(key, b"short").unwrap(),
        |key: &Path| std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap(),
        |key: &Path| std::fs::remove_file(key).unwrap(),
    ] {
        let (cache, digest) = folder.filled(b"a");
        drop(cache);
        let key = folder.folder.path().join("key");
        spoil(&key);
        folder.is_refused(&folder.open(), digest);
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_least_recently_used_go_first_and_none_that_is_in_use() {
    let folder = Folder::new();
    let room = folder.code.len() as u64 * 5 / 2;
    let config = folder.config(room, Duration::from_secs(3600));
    let cache = Cache::open(&config, &engine::for_compiling().unwrap()).unwrap();
    let [a, b, c, d] = [b"a", b"b", b"c", b"d"].map(|name| Digest::of(name));
    let age = |digest, seconds| {
        let file = std::fs::File::open(cache.seal(&cache.name(digest))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    let is_there = |digest| cache.code(&cache.name(digest)).exists();
    folder.keep(&cache, a);
    let used = cache.find(a).unwrap();
    age(a, 100);
    folder.keep(&cache, b);
    age(b, 50);
    folder.keep(&cache, c);
    assert_eq!([a, b, c].map(is_there), [true, false, true], "`a` is older, but in use");
    drop(used);
    age(a, 100);
    folder.keep(&cache, d);
    assert_eq!([a, c, d].map(is_there), [false, true, true]);
    assert_eq!(folder.files().len(), 5, "seals go with their code: {:?}", folder.files());
}

#[test]
fn what_was_not_used_for_long_goes() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let path = cache.code(&cache.name(digest));
    let then = SystemTime::now() - Duration::from_secs(7200);
    let seal = cache.seal(&cache.name(digest));
    std::fs::File::open(&seal).unwrap().set_modified(then).unwrap();
    assert!(cache.find(digest).is_some());
    folder.open().tidy();
    assert!(path.exists(), "it was used just now");
    std::fs::File::open(&seal).unwrap().set_modified(then).unwrap();
    folder.open().tidy();
    assert!(!path.exists());
}

/// Until the seal is marked: code that was written just now is read again.
fn marked(cache: &Cache, digest: Digest) -> Vec<u8> {
    let seal = cache.seal(&cache.name(digest));
    let end = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        assert!(cache.find(digest).is_some());
        let written = std::fs::read(&seal).unwrap();
        if written.len() == 64 {
            return written;
        }
        assert!(std::time::Instant::now() < end, "it is never marked");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_mark_holds_for_the_file_that_was_read_and_no_other() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    let (path, seal) = (cache.code(&cache.name(digest)), cache.seal(&cache.name(digest)));
    let written = marked(&cache, digest);
    let found = cache.key.verify(&cache.name(digest), &path, &seal).unwrap();
    assert!(found.marked.is_none());
    // Written in place with as many bytes, and with its time set back.
    let then = std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut code = folder.code.clone();
    code[folder.code.len() / 2] ^= 1;
    std::fs::write(&path, &code).unwrap();
    std::fs::File::open(&path).unwrap().set_modified(then).unwrap();
    folder.is_refused(&cache, digest);
    // The mark of the old file beside the new one: that one is read, and fits.
    std::fs::write(&seal, &written).unwrap();
    assert!(cache.find(digest).is_some());
    // But not where the rest of it was replaced.
    for replaced in [[&[0; 32], &written[32..]].concat(), written[32..].repeat(2)] {
        marked(&cache, digest);
        std::fs::write(&seal, replaced).unwrap();
        folder.is_refused(&cache, digest);
    }
}

#[test]
fn with_a_mark_the_code_is_not_read() {
    let folder = Folder::new();
    let (cache, digest) = folder.filled(b"a");
    marked(&cache, digest);
    let (name, path) = (cache.name(digest), cache.code(&cache.name(digest)));
    let read = || {
        let verified = cache.key.verify(&name, &path, &cache.seal(&name)).unwrap();
        std::io::Seek::stream_position(&mut verified.file()).unwrap()
    };
    assert_eq!(read(), 0);
    std::fs::File::open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
    assert_eq!(read(), folder.code.len() as u64, "its stamp is another one");
}

#[test]
fn what_is_known_of_a_file_is_ours_and_of_that_file() {
    let folder = Folder::new();
    let cache = folder.open();
    let file = |text: &str| {
        let path = folder.folder.path().join(text);
        std::fs::write(&path, text).unwrap();
        Stamp::of(&path).unwrap()
    };
    let (a, b) = (file("a.wasm"), file("b.wasm"));
    assert_eq!(cache.known(&a), None);
    cache.remember(&a, &Digest::of(b"a")).unwrap();
    assert_eq!((cache.known(&a), cache.known(&b)), (Some(Digest::of(b"a")), None));
    assert_eq!(folder.open().known(&a), Some(Digest::of(b"a")), "it outlives the process");
    let note = |stamp: &Stamp| folder.folder.path().join(format!("{}.known", Digest::of(&stamp.bytes())));
    // Another file's, and one with another digest.
    std::fs::copy(note(&a), note(&b)).unwrap();
    assert_eq!(cache.known(&b), None);
    assert!(!note(&b).exists());
    let mut odd = std::fs::read(note(&a)).unwrap();
    odd[0] ^= 1;
    std::fs::write(note(&a), odd).unwrap();
    assert_eq!(cache.known(&a), None);
    cache.remember(&a, &Digest::of(b"a")).unwrap();
    cache.disown(&a);
    assert_eq!(cache.known(&a), None);
    // And what nobody asks for goes with its age.
    cache.remember(&a, &Digest::of(b"a")).unwrap();
    let then = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::open(note(&a)).unwrap().set_modified(then).unwrap();
    folder.open().tidy();
    assert!(!note(&a).exists());
}
