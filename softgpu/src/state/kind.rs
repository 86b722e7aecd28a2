//! The kinds of objects that have handles.

/// The kind of object that a handle refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Context = 0x10,
    Stream = 0x20,
    Event = 0x30,
    Module = 0x40,
    Function = 0x50,
    Library = 0x60,
    Kernel = 0x70,
    Allocation = 0x80,
    Pool = 0x90,
    GraphExec = 0xa0,
    Array = 0xd0,
    Mipmap = 0xe0,
    Link = 0xb0,
    Texture = 0xc0,
    Surface = 0xf0,
    Green = 0x18,
}
