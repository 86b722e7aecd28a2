//! The names of the tables. The constants are indices into [`NAMES`].

pub const CUDART_INTERFACE: usize = 0;
pub const TOOLS_RUNTIME_CALLBACK_HOOKS: usize = 1;
pub const TOOLS_TLS: usize = 2;
pub const CONTEXT_LOCAL_STORAGE: usize = 3;
pub const INTEGRITY_CHECK: usize = 4;
pub const CONTEXT_CHECKS: usize = 5;
pub const TOOLS_CONTEXT: usize = 6;
pub const TOOLS_MODULE: usize = 7;
pub const TPC_TABLES: usize = 8;
pub const COMPILER_CACHE: usize = 9;

/// The name of each table in messages, indexed by the constants above.
pub const NAMES: [&str; 10] = [
    "CUDART_INTERFACE",
    "TOOLS_RUNTIME_CALLBACK_HOOKS",
    "TOOLS_TLS",
    "CONTEXT_LOCAL_STORAGE",
    "INTEGRITY_CHECK",
    "CONTEXT_CHECKS",
    "ToolsContext",
    "ToolsModule",
    "1734DC26",
    "DA9151D3",
];
