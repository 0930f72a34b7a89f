//! Uses much memory: `touch-memory://fill/MIB` writes to this many mebibytes at once, and `touch-memory://pages/MIB` to one page
//! after another. The text is the number of mebibytes.

use guests::*;

struct TouchMemory;

/// Size of a page of the host, in bytes.
const PAGE: usize = 4 << 10;

impl Behaviour for TouchMemory {
    fn templates() -> Vec<&'static str> {
        vec!["touch-memory://{how}/{mebibytes}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let mut parts = request.uri.rsplit('/');
        let mebibytes = parts
            .next()
            .and_then(|part| part.parse::<usize>().ok())
            .ok_or(Error::NotFound)?;
        let bytes = mebibytes << 20;
        match parts.next() {
            // This is one instruction, which the host cannot interrupt.
            Some("fill") => drop(std::hint::black_box(vec![1_u8; bytes])),
            Some("pages") => touch_pages(bytes),
            _ => return Err(Error::NotFound),
        }
        text(mebibytes.to_string())
    }
}

fn touch_pages(bytes: usize) {
    let mut memory: Vec<u8> = Vec::with_capacity(bytes);
    for page in memory.spare_capacity_mut().chunks_mut(PAGE) {
        std::hint::black_box(page)[0].write(1);
    }
}

guests::export!(TouchMemory);
