use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::compile::function_list;
use crate::engine;
use crate::engine::tier::Tier;
use larder_model::name::TeamName;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::ledger::SeveralTeams;
use larder_runtime::shares::{ShareLimits, Shares};

/// The smallest component. The cache and the seals treat all components in the same way.
const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

impl Cache {
    /// Finds the entry of a component.
    fn component(&self, digest: Digest) -> Option<CacheEntry<ComponentCode>> {
        self.find(digest, &only_team(1 << 30)).unwrap()
    }
}

/// A team that can use this many bytes of code.
fn only_team(code: u64) -> TeamShares {
    let configured = ShareLimits {
        code,
        ..ShareLimits::default()
    };
    Shares::new(configured, &SeveralTeams::default()).team(&TeamName::default_team())
}

struct TestFolder {
    folder: TempDir,
    code: Vec<u8>,
}

impl TestFolder {
    fn new() -> Self {
        let mut code = engine::for_compiling(Tier::Optimised)
            .unwrap()
            .precompile_component(EMPTY_COMPONENT)
            .unwrap();
        function_list::append(&mut code, EMPTY_COMPONENT).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            code,
        }
    }

    fn config(&self, size: u64, age: Duration) -> Config {
        Config {
            location: CacheLocation::Configured(self.folder.path().into()),
            size,
            age,
        }
    }

    fn open(&self) -> Cache {
        let age = Duration::from_secs(3600);
        Cache::open(
            &self.config(1 << 30, age),
            &engine::for_compiling(Tier::Optimised).unwrap(),
        )
        .unwrap()
    }

    /// Opens the cache and adds an entry. Returns the cache and the digest of the entry.
    fn with_entry(&self, name: &[u8]) -> (Cache, Digest) {
        let cache = self.open();
        let digest = Digest::of(name);
        self.insert(&cache, digest);
        (cache, digest)
    }

    fn insert(&self, cache: &Cache, digest: Digest) {
        let mut temp_file = cache.temp_file().unwrap();
        temp_file.write_all(&self.code).unwrap();
        cache.insert::<ComponentCode>(digest, temp_file).unwrap();
    }

    /// Asserts that an entry is not used: it is not found, its file is deleted, and a new entry can be added.
    fn assert_rejected(&self, cache: &Cache, digest: Digest) {
        let code = cache.code_path(&cache.entry_name(digest));
        assert!(code.symlink_metadata().is_ok(), "there is no entry");
        assert!(cache.component(digest).is_none());
        assert!(code.symlink_metadata().is_err(), "it is still there");
        self.insert(cache, digest);
        assert!(cache.component(digest).is_some());
    }

    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn finds_entries_of_an_earlier_process() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    drop(cache);
    assert!(folder.open().component(digest).is_some());
    assert!(folder.open().component(Digest::of(b"b")).is_none());
    assert_eq!(
        folder.files().len(),
        3,
        "code, seal and key: {:?}",
        folder.files()
    );
}

#[test]
fn an_entry_in_use_is_mapped_once() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let first = cache.component(digest).unwrap();
    let second = cache.component(digest).unwrap();
    assert_eq!(
        first.code.component.image_range(),
        second.code.component.image_range()
    );
    let seal = cache.seal_path(&cache.entry_name(digest));
    let then = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::open(&seal)
        .unwrap()
        .set_modified(then)
        .unwrap();
    let third = cache.component(digest).unwrap();
    assert!(
        std::fs::metadata(&seal).unwrap().modified().unwrap() > then,
        "its use is recorded"
    );
    assert_eq!(
        first.code.component.image_range(),
        third.code.component.image_range()
    );
    // Code that is not used any more is verified and mapped again.
    drop((first, second, third));
    std::fs::write(cache.code_path(&cache.entry_name(digest)), b"damaged").unwrap();
    folder.assert_rejected(&cache, digest);
}

#[test]
fn rejects_modified_code() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    for position in [0, folder.code.len() / 2, folder.code.len() - 1] {
        let mut code = folder.code.clone();
        code[position] ^= 1;
        std::fs::write(&path, code).unwrap();
        folder.assert_rejected(&cache, digest);
    }
}

#[test]
fn rejects_truncated_extended_and_empty_code() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    let longer = [folder.code.as_slice(), b"\0"].concat();
    for code in [
        &folder.code[..folder.code.len() - 1],
        &folder.code[..1],
        b"",
        &longer,
    ] {
        std::fs::write(&path, code).unwrap();
        folder.assert_rejected(&cache, digest);
    }
}

#[test]
fn rejects_missing_and_invalid_seals() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.seal_path(&cache.entry_name(digest));
    std::fs::remove_file(&path).unwrap();
    folder.assert_rejected(&cache, digest);
    let seal = std::fs::read(&path).unwrap();
    for invalid in [
        &seal[..31],
        b"",
        &[seal.as_slice(), b"\0"].concat(),
        &[0; 32],
    ] {
        std::fs::write(&path, invalid).unwrap();
        folder.assert_rejected(&cache, digest);
    }
}

#[test]
fn rejects_links_and_pipes() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    let elsewhere = folder.folder.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    folder.assert_rejected(&cache, digest);
    assert_eq!(
        std::fs::read(&elsewhere).unwrap(),
        folder.code,
        "the target of the link is untouched"
    );
    std::fs::remove_file(&path).unwrap();
    // Opening a pipe without a writer must not block.
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    folder.assert_rejected(&cache, digest);
}

#[test]
fn rejects_files_that_others_can_write() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    folder.assert_rejected(&cache, digest);
}

#[test]
fn rejects_an_entry_of_another_component() {
    let folder = TestFolder::new();
    let (cache, a) = folder.with_entry(b"a");
    let b = Digest::of(b"b");
    for path in [Cache::code_path, Cache::seal_path] {
        std::fs::copy(
            path(&cache, &cache.entry_name(a)),
            path(&cache, &cache.entry_name(b)),
        )
        .unwrap();
    }
    folder.assert_rejected(&cache, b);
}

#[test]
fn rejects_an_entry_of_another_engine() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(false);
    let other = wasmtime::Engine::new(&config).unwrap();
    let elsewhere =
        Cache::open(&folder.config(1 << 30, Duration::from_secs(3600)), &other).unwrap();
    assert!(elsewhere.component(digest).is_none(), "it has another name");
    assert!(
        cache.component(digest).is_some(),
        "the entry of the first engine is kept"
    );
    // Even with the right name and a valid seal.
    let mut temp_file = cache.temp_file().unwrap();
    temp_file
        .write_all(&other.precompile_component(EMPTY_COMPONENT).unwrap())
        .unwrap();
    cache.insert::<ComponentCode>(digest, temp_file).unwrap();
    folder.assert_rejected(&cache, digest);
}

#[test]
fn rejects_all_entries_after_the_key_changed() {
    let folder = TestFolder::new();
    for spoil in [
        |key: &Path| std::fs::write(key, [7; 64]).unwrap(),
        |key: &Path| std::fs::write(key, b"short").unwrap(),
        |key: &Path| std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap(),
        |key: &Path| std::fs::remove_file(key).unwrap(),
    ] {
        let (cache, digest) = folder.with_entry(b"a");
        drop(cache);
        let key = folder.folder.path().join("key");
        spoil(&key);
        folder.assert_rejected(&folder.open(), digest);
        assert_eq!(
            std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn removes_the_least_recently_used_entries_first() {
    let folder = TestFolder::new();
    let max_size = folder.code.len() as u64 * 5 / 2;
    let config = folder.config(max_size, Duration::from_secs(3600));
    let cache = Cache::open(&config, &engine::for_compiling(Tier::Optimised).unwrap()).unwrap();
    let [a, b, c, d] = [b"a", b"b", b"c", b"d"].map(|name| Digest::of(name));
    let age = |digest, seconds| {
        let file = std::fs::File::open(cache.seal_path(&cache.entry_name(digest))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
            .unwrap();
    };
    let exists = |digest| cache.code_path(&cache.entry_name(digest)).exists();
    folder.insert(&cache, a);
    let in_use = cache.component(a).unwrap();
    age(a, 100);
    folder.insert(&cache, b);
    age(b, 50);
    folder.insert(&cache, c);
    assert_eq!(
        [a, b, c].map(exists),
        [true, false, true],
        "`a` is older, but in use"
    );
    drop(in_use);
    age(a, 100);
    folder.insert(&cache, d);
    assert_eq!([a, c, d].map(exists), [false, true, true]);
    assert_eq!(
        folder.files().len(),
        5,
        "seals are removed with their code: {:?}",
        folder.files()
    );
}

#[test]
fn code_that_does_not_fit_beside_code_in_use_is_neither_used_nor_kept() {
    let folder = TestFolder::new();
    let size = folder.code.len() as u64;
    let config = folder.config(size * 5 / 2, Duration::from_secs(3600));
    let cache = Cache::open(&config, &engine::for_compiling(Tier::Optimised).unwrap()).unwrap();
    let digests = [b"a", b"b", b"c"].map(|name| Digest::of(name));
    let team = only_team(config.size);
    let find = |digest| cache.find::<ComponentCode>(digest, &team);
    let [a, b, c] = digests.map(|digest| {
        folder.insert(&cache, digest);
        find(digest)
    });
    let Err(Unusable::NoRoom { .. }) = c else {
        panic!("more code is in use than the cache may have")
    };
    let total = || {
        let sizes = folder
            .files()
            .into_iter()
            .map(|name| folder.folder.path().join(name).metadata().unwrap().len());
        sizes.sum::<u64>()
    };
    assert!(total() < config.size, "{:?}", folder.files());
    assert!(find(digests[0]).is_ok(), "what is in use is counted once");
    drop((a, b));
    folder.insert(&cache, digests[2]);
    assert!(find(digests[2]).unwrap().is_some());
    // Entries that exceed the size of a smaller cache are removed.
    let smaller = Cache::open(
        &folder.config(size / 2, Duration::from_secs(3600)),
        &cache.engine,
    )
    .unwrap();
    smaller.remove_unused();
    assert!(total() < size);
}

#[test]
fn removes_entries_that_were_not_used_for_long() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    let then = SystemTime::now() - Duration::from_secs(7200);
    let seal = cache.seal_path(&cache.entry_name(digest));
    std::fs::File::open(&seal)
        .unwrap()
        .set_modified(then)
        .unwrap();
    assert!(cache.component(digest).is_some());
    folder.open().remove_unused();
    assert!(path.exists(), "it was used just now");
    std::fs::File::open(&seal)
        .unwrap()
        .set_modified(then)
        .unwrap();
    folder.open().remove_unused();
    assert!(!path.exists());
}

/// Waits until the seal has a mark, and returns the seal. The seal of code that was written very recently gets no mark.
fn wait_for_mark(cache: &Cache, digest: Digest) -> Vec<u8> {
    let seal = cache.seal_path(&cache.entry_name(digest));
    let end = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        assert!(cache.component(digest).is_some());
        let written = std::fs::read(&seal).unwrap();
        if written.len() == 64 {
            return written;
        }
        assert!(std::time::Instant::now() < end, "it is never marked");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_mark_is_valid_only_for_the_verified_file() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    let path = cache.code_path(&cache.entry_name(digest));
    let seal = cache.seal_path(&cache.entry_name(digest));
    let written = wait_for_mark(&cache, digest);
    let found = cache
        .key
        .verify(&cache.entry_name(digest), &path, &seal)
        .unwrap();
    assert!(found.new_seal.is_none());
    // The file is overwritten in place with the same size and the old modification time.
    let then = std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut code = folder.code.clone();
    code[folder.code.len() / 2] ^= 1;
    std::fs::write(&path, &code).unwrap();
    std::fs::File::open(&path)
        .unwrap()
        .set_modified(then)
        .unwrap();
    folder.assert_rejected(&cache, digest);
    // The seal has the mark of the old file and the code is in the new file: the code is verified in full, and matches.
    std::fs::write(&seal, &written).unwrap();
    assert!(cache.component(digest).is_some());
    // The code does not match if the seal before the mark was replaced.
    for replaced in [[&[0; 32], &written[32..]].concat(), written[32..].repeat(2)] {
        wait_for_mark(&cache, digest);
        std::fs::write(&seal, replaced).unwrap();
        folder.assert_rejected(&cache, digest);
    }
}

#[test]
fn does_not_read_code_whose_seal_has_a_mark() {
    let folder = TestFolder::new();
    let (cache, digest) = folder.with_entry(b"a");
    wait_for_mark(&cache, digest);
    let name = cache.entry_name(digest);
    let path = cache.code_path(&cache.entry_name(digest));
    let read = || {
        let verified = cache
            .key
            .verify(&name, &path, &cache.seal_path(&name))
            .unwrap();
        std::io::Seek::stream_position(&mut verified.file()).unwrap()
    };
    assert_eq!(read(), 0);
    std::fs::File::open(&path)
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    assert_eq!(read(), folder.code.len() as u64, "the fingerprint differs");
}

#[test]
fn digest_records_are_valid_only_for_their_file() {
    let folder = TestFolder::new();
    let cache = folder.open();
    let file = |text: &str| {
        let path = folder.folder.path().join(text);
        std::fs::write(&path, text).unwrap();
        FileFingerprint::of(&path).unwrap()
    };
    let a = file("a.wasm");
    let b = file("b.wasm");
    assert_eq!(cache.recorded_digest(&a), None);
    cache.record_digest(&a, &Digest::of(b"a")).unwrap();
    assert_eq!(
        (cache.recorded_digest(&a), cache.recorded_digest(&b)),
        (Some(Digest::of(b"a")), None)
    );
    assert_eq!(
        folder.open().recorded_digest(&a),
        Some(Digest::of(b"a")),
        "a later process finds it"
    );
    let record_path = |fingerprint: &FileFingerprint| {
        folder
            .folder
            .path()
            .join(format!("{}.known", Digest::of(&fingerprint.bytes())))
    };
    // A record of another file is rejected, and a record with another digest is rejected.
    std::fs::copy(record_path(&a), record_path(&b)).unwrap();
    assert_eq!(cache.recorded_digest(&b), None);
    assert!(!record_path(&b).exists());
    let mut invalid = std::fs::read(record_path(&a)).unwrap();
    invalid[0] ^= 1;
    std::fs::write(record_path(&a), invalid).unwrap();
    assert_eq!(cache.recorded_digest(&a), None);
    cache.record_digest(&a, &Digest::of(b"a")).unwrap();
    cache.forget_digest(&a);
    assert_eq!(cache.recorded_digest(&a), None);
    // Records that are not used are removed.
    cache.record_digest(&a, &Digest::of(b"a")).unwrap();
    let then = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::open(record_path(&a))
        .unwrap()
        .set_modified(then)
        .unwrap();
    folder.open().remove_unused();
    assert!(!record_path(&a).exists());
}

#[test]
fn temporary_files_count_and_those_of_killed_processes_are_removed() {
    let folder = TestFolder::new();
    let age = |path: &Path, seconds| {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        std::fs::File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    };
    let large = |path: &Path| {
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(1 << 20)
            .unwrap()
    };
    let (first, digest) = folder.with_entry(b"a");
    drop(first);
    let killed = folder.folder.path().join(format!("{TEMP_PREFIX}killed"));
    std::fs::write(&killed, "").unwrap();
    large(&killed);
    let cache = Cache::open(
        &folder.config(1 << 19, Duration::from_secs(3600)),
        &engine::for_compiling(Tier::Optimised).unwrap(),
    );
    let cache = cache.unwrap();
    // A process may have created the file just now and may not have locked it yet.
    cache.sweep(1 << 21);
    assert!(killed.exists() && cache.code_path(&cache.entry_name(digest)).exists());
    age(&killed, 10);
    cache.sweep(1 << 21);
    assert!(!killed.exists());
    // A file in use stays, but its size reduces the space for entries.
    let in_use = cache.temp_file().unwrap();
    large(in_use.path());
    age(in_use.path(), 10);
    cache.sweep(1 << 19);
    assert!(in_use.path().exists() && cache.component(digest).is_none());
}
