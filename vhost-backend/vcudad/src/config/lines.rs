//! Finds the lines of keys in a configuration file, for errors about their values.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed file with the positions of its keys.
pub(super) struct Lines<'a> {
    text: &'a str,
    table: Option<Spanned<DeTable<'a>>>,
}

impl<'a> Lines<'a> {
    /// Parses a file. If it isn't valid TOML, the lookups find no lines.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, table: DeTable::parse(text).ok() }
    }

    /// Returns the line of a byte, counted from 1.
    pub(super) fn of_byte(&self, byte: usize) -> usize {
        let before = &self.text.as_bytes()[..byte.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// Returns the line of a key at the top of the file, such as `memory.slack`. If only a part of
    /// the key is in the file, returns that part's line.
    pub(super) fn of_key(&self, key: &str) -> Option<usize> {
        self.find(self.table.as_ref()?.get_ref(), key)
    }

    /// Returns the line of a VM's setting in the VM's section. If the setting isn't there, returns
    /// its line in `[defaults]`. If it isn't there, either, returns the line of the VM's section.
    pub(super) fn of_vm(&self, index: usize, key: &str) -> Option<usize> {
        let top = self.table.as_ref()?.get_ref();
        let section = top.get("vm")?.get_ref().as_array()?.get(index)?;
        let table = section.get_ref().as_table()?;
        let own = self.find(table, key);
        let default = || self.find(top.get("defaults")?.get_ref().as_table()?, key);
        own.or_else(default).or_else(|| Some(self.of_byte(section.span().start)))
    }

    fn find(&self, table: &DeTable<'_>, key: &str) -> Option<usize> {
        let (first, rest) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == first)?;
        let inner = match (value.get_ref(), rest) {
            (DeValue::Table(inner), Some(rest)) => self.find(inner, rest),
            _ => None,
        };
        inner.or_else(|| Some(self.of_byte(name.span().start)))
    }
}
