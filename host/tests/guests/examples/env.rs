//! Returns its environment: all variables, all arguments and the current directory.

use guests::*;

struct Env;

impl Behaviour for Env {
    fn entries() -> Vec<Entry> {
        vec![entry("env://all")]
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        let variables = std::env::vars().map(|(name, value)| format!("{name}={value}\n"));
        let arguments = std::env::args().map(|argument| format!("argument {argument}\n"));
        let preopens = wasip2::filesystem::preopens::get_directories();
        let folders = preopens
            .into_iter()
            .map(|(_, path)| format!("folder {path}\n"));
        text(
            variables
                .chain(arguments)
                .chain(folders)
                .collect::<String>(),
        )
    }
}

guests::export!(Env);
