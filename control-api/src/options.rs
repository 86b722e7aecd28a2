//! Command-line options for settings. An option has its setting's key, with `-` instead of `.` and
//! `_`.

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser,
};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};
use serde_json::Value;

use crate::error::ApiError;
use crate::patch::VmPatch;
use crate::setting::{Change, Kind, Preset, Setting};
use crate::settings::SETTINGS;
use crate::spec::VmSpec;
use crate::units::parse_size;
use crate::values::Values;

/// Options of a command that adds a VM: all of its settings, apart from its name.
#[derive(Clone, Debug)]
pub struct NewVm(Values);

/// Options of a command that changes a VM. At least one is required.
#[derive(Clone, Debug)]
pub struct ChangedVm(pub VmPatch);

/// A command's purpose, which decides the options that it has, and their help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Adding a VM.
    Add,
    /// Changing a VM.
    Change,
}

impl Setting {
    /// Returns the name of the option, without `--`.
    pub fn option(&self) -> String {
        match self.key {
            "socket" => "socket-path".into(),
            "memory.host_max" => "host-memory-max".into(),
            key => key.replace(['.', '_'], "-"),
        }
    }

    fn id(&self) -> String {
        self.option().replace('-', "_")
    }

    fn arg(&'static self, purpose: Purpose) -> Arg {
        let (help, or_none) = match (purpose, self.change) {
            (Purpose::Change, Change::LiveOrNone(help)) => (help.to_owned(), true),
            (Purpose::Change, Change::Live(help)) if !help.is_empty() => (help.to_owned(), false),
            (Purpose::Add, _) => (self.add_help(), false),
            _ => (self.help.to_owned(), false),
        };
        let or = if or_none { "|none" } else { "" };
        let arg = Arg::new(self.id())
            .long(self.option())
            .value_name(format!("{}{or}", self.placeholder))
            .help(help)
            .value_parser(self.parser(or_none));
        match self.kind {
            Kind::Number(..) | Kind::Size(..) | Kind::DeviceMemory => {
                arg.allow_negative_numbers(true)
            }
            Kind::List(_) => arg.value_delimiter(',').action(ArgAction::Append),
            _ if self.key == "socket" => arg.value_hint(ValueHint::AnyPath),
            _ => arg,
        }
    }

    fn add_help(&self) -> String {
        match self.default {
            Preset::Required(_) | Preset::Words("", _) => self.help.to_owned(),
            Preset::Value(default) | Preset::Words(default, _) => {
                format!("{} [default: {default}]", self.help)
            }
        }
    }

    fn parser(&'static self, or_none: bool) -> ValueParser {
        match self.kind {
            Kind::Word(words) => {
                let words = words.iter().map(|(word, help)| PossibleValue::new(*word).help(*help));
                PossibleValuesParser::new(words).map(Value::from).into()
            }
            _ if self.key == "socket" => NonEmptyStringValueParser::new().map(Value::from).into(),
            _ => ValueParser::new(move |text: &str| match text {
                "none" if or_none => Ok(Value::Null),
                text => self.parse(text).map_err(|error| match parse_size(text) {
                    // A size, but too small.
                    Ok(_) if self.is_size() => error,
                    _ if or_none => format!("{error}, or none"),
                    _ => error,
                }),
            }),
        }
    }
}

/// Returns the settings that have an option. A VM's name has no option, because it's a positional
/// argument of the commands.
fn settings(purpose: Purpose) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| {
        setting.key != "name" && (purpose == Purpose::Add || setting.is_live())
    })
}

/// Returns a command's options.
fn options(purpose: Purpose) -> Vec<Arg> {
    settings(purpose).map(|setting| setting.arg(purpose)).collect()
}

/// Returns the settings that a command line contains.
fn given(matches: &ArgMatches, purpose: Purpose) -> Values {
    let given = settings(purpose).filter_map(|setting| {
        let mut values = matches.get_many::<Value>(&setting.id())?.cloned();
        let value = match setting.kind {
            Kind::List(_) => Value::Array(values.collect()),
            _ => values.next().unwrap_or_default(),
        };
        Some((setting.key, value))
    });
    Values(given.collect())
}

impl NewVm {
    /// Returns true if `memory.max` is given.
    pub fn has_memory_max(&self) -> bool {
        self.0.0.contains_key("memory.max")
    }

    /// Returns the VM's settings, without checking ranges. `memory_max` is used if the command line
    /// doesn't contain `memory.max`.
    pub fn spec(&self, name: &str, memory_max: u64) -> Result<VmSpec, ApiError> {
        let mut all = self.0.clone();
        all.0.insert("name", name.into());
        all.0.entry("memory.max").or_insert_with(|| memory_max.into());
        all.into_spec()
    }
}

impl Args for NewVm {
    fn augment_args(command: Command) -> Command {
        let command = command.args(options(Purpose::Add));
        command.mut_arg("memory_max", |arg| arg.required(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.args(options(Purpose::Add))
    }
}

impl FromArgMatches for NewVm {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(given(matches, Purpose::Add)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ChangedVm {
    fn augment_args(command: Command) -> Command {
        let options = options(Purpose::Change);
        let names: Vec<_> = options.iter().map(|option| option.get_id().clone()).collect();
        let group = ArgGroup::new("ChangedVm").args(names).required(true).multiple(true);
        command.args(options).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.args(options(Purpose::Change))
    }
}

impl FromArgMatches for ChangedVm {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(VmPatch::new(given(matches, Purpose::Change))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
