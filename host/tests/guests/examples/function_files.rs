//! Exports functions for files in the root: equal in interface to the file system component of another host, in part.

wit_bindgen::generate!({
    inline: r#"
        package guests:filesystem;

        world filesystem {
            export list-directory: func(path: string) -> result<list<string>, string>;
            export read-file: func(path: string) -> result<string, string>;
            export write-file: func(path: string, content: string) -> result<string, string>;
            export file-exists: func(path: string) -> result<bool, string>;
            export get-directory-tree: func(path: string, max-depth: u32) -> result<string, string>;
        }
    "#,
});

use std::fs;
use std::path::Path;

struct Component;

fn names(path: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for item in fs::read_dir(path)? {
        let item = item?;
        let kind = if item.file_type()?.is_dir() {
            "DIR"
        } else {
            "FILE"
        };
        names.push(format!("[{kind}] {}", item.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names)
}

fn tree(path: &Path, depth: u32, out: &mut String) -> std::io::Result<()> {
    for item in fs::read_dir(path)? {
        let path = item?.path();
        out.push_str(&format!("{}\n", path.display()));
        if path.is_dir() && depth > 1 {
            tree(&path, depth - 1, out)?;
        }
    }
    Ok(())
}

impl Guest for Component {
    fn list_directory(path: String) -> Result<Vec<String>, String> {
        names(&path).map_err(|error| error.to_string())
    }

    fn read_file(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn write_file(path: String, content: String) -> Result<String, String> {
        fs::write(&path, content).map_err(|error| error.to_string())?;
        Ok(format!("wrote {path}"))
    }

    fn file_exists(path: String) -> Result<bool, String> {
        fs::exists(path).map_err(|error| error.to_string())
    }

    fn get_directory_tree(path: String, max_depth: u32) -> Result<String, String> {
        let mut out = String::new();
        tree(Path::new(&path), max_depth, &mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }
}

export!(Component);
