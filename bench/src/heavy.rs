//! Components whose guests have many memories or tables, which are empty.

/// The resource of which a guest has many.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Many {
    Memories,
    Tables,
}

/// Adds a core module to a component, and instances of it. Together with the resources of the guest `sleep`, these are
/// the maximum that the engine allows: one memory or table for a module, and 8 memories and 32 tables for a component.
pub(crate) fn add(component: &mut Vec<u8>, many: Many) {
    let number = core_modules(component);
    let (section, count): (&[u8], u8) = match many {
        Many::Memories => (&[5, 3, 1, 0, 0], 7),
        Many::Tables => (&[4, 4, 1, 0x70, 0, 0], 30),
    };
    let module = [b"\0asm\x01\0\0\0", section].concat();
    let instances = [0, number, 0].repeat(count.into());
    // The sections of core modules and of core instances.
    component.extend([1, u8::try_from(module.len()).expect("it is short")]);
    component.extend(module);
    component.extend([
        2,
        u8::try_from(instances.len() + 1).expect("it is short"),
        count,
    ]);
    component.extend(instances);
}

/// The number of core modules of a component, which has less than 128 of them.
fn core_modules(component: &[u8]) -> u8 {
    let (mut at, mut count) = (8, 0);
    while let Some(kind) = component.get(at) {
        count += u8::from(*kind == 1);
        let (mut length, mut shift) = (0, 0);
        loop {
            at += 1;
            length |= usize::from(component[at] & 0x7f) << shift;
            shift += 7;
            if component[at] < 0x80 {
                break;
            }
        }
        at += 1 + length;
    }
    count
}
