//! Performs the file system operation in the URI. The host does not check paths in the query.

use std::fs;
use std::io::Result as Io;

use guests::*;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::ErrorCode;

struct Dirs;

impl Behaviour for Dirs {
    fn templates() -> Vec<&'static str> {
        vec![
            "dirs://{action}/{+path}",
            "dirs://read{?path}",
            "dirs://write{?path}",
            "dirs://list{?path}",
            "dirs://stat{?path}",
            "dirs://delete{?path}",
            "dirs://rename{?path,to}",
            "dirs://link{?path,to}",
            "dirs://symlink{?path,to}",
            "dirs://swap{?path,to}",
            "dirs://follow{?path}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let (path, to) = (value(&request, "path"), value(&request, "to"));
        let action = request
            .uri
            .trim_start_matches("dirs://")
            .split(['/', '?'])
            .next();
        match action {
            Some("read") => outcome(fs::read_to_string(path)),
            Some("write") => outcome(fs::write(path, "written by a guest")),
            Some("list") => outcome(list(path)),
            Some("stat") => outcome(fs::metadata(path).map(|metadata| metadata.len())),
            Some("delete") => outcome(fs::remove_file(path)),
            Some("rename") => outcome(fs::rename(path, to)),
            Some("link") => outcome(fs::hard_link(path, to)),
            Some("symlink") => outcome(symlink(path, to)),
            Some("swap") => outcome(swap(path, to)),
            Some("follow") => outcome(fs::read_link(path)),
            _ => Err(Error::NotFound),
        }
    }
}

fn list(path: &str) -> Io<Vec<String>> {
    let names =
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<_> = names.collect::<Io<_>>()?;
    names.sort();
    Ok(names)
}

/// Replaces a file or folder with a symbolic link.
fn swap(path: &str, to: &str) -> Result<(), String> {
    fs::rename(to, format!("{to}.old")).map_err(|error| error.to_string())?;
    symlink(path, to).map_err(|error| error.to_string())
}

/// Creates a symbolic link with WASI, as the standard library has no stable function for it. `to` must be in
/// a granted folder.
fn symlink(path: &str, to: &str) -> Result<(), ErrorCode> {
    for (folder, name) in get_directories() {
        if let Some(below) = to.strip_prefix(&name) {
            return folder.symlink_at(path, below.trim_start_matches('/'));
        }
    }
    Err(ErrorCode::NotPermitted)
}

guests::export!(Dirs);
