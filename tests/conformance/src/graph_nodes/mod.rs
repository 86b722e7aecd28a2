//! The table of node parameters that a graph rejects, for every type of node, and for every call
//! that takes them.
//!
//! The table has a part for each type of node. In it, each row is a change of valid parameters, and
//! each column is a call that gets the changed parameters: `add`, `set`, and `exec` are the calls
//! for nodes of this type, and `add-any`, `set-any`, and `exec-any` are the calls for nodes of any
//! type. `instantiate` adds the node and instantiates the graph. In the part `types`, each row is
//! the type of a node, and each column is a call that is meant for another type of node.

mod changes;
mod node;
mod types;

use crate::arguments::objects::Objects;
use crate::cuda::{Cuda, Failure, Outcome};
use crate::ended;
use crate::table::{Cell, Table};
use node::Type;
use types::ALL;

/// The table of node parameters that a graph rejects.
pub const TABLE: Table = Table {
    option: "--graph-nodes",
    native: include_str!("native.csv"),
    apart: true,
    kinds: || ALL.iter().map(|node| node.name).chain([TYPES]).collect(),
    cells: |_, kind| cells(kind),
    run: outcome,
};

/// The part of the table in which a node and the call on it have different types.
const TYPES: &str = "types";

fn find(name: &str) -> Outcome<&'static Type> {
    let found = ALL.iter().find(|node| node.name == name);
    found.ok_or_else(|| Failure::new(format!("there is no type of node {name}")))
}

fn cells(kind: &str) -> Outcome<Vec<Cell>> {
    let pair = |row: &str, column: String| (row.to_owned(), column);
    if kind == TYPES {
        let calls = |node: &'static Type| {
            ALL.iter().flat_map(move |other| {
                let calls = ["get", "set", "exec"].into_iter().filter(|call| other.has(call));
                calls.map(move |call| pair(node.name, format!("{call} {}", other.name)))
            })
        };
        return Ok(ALL.iter().flat_map(calls).collect());
    }
    let node = find(kind)?;
    let calls = ["add", "add-any", "set", "set-any", "exec", "exec-any", "instantiate"];
    let calls = calls.into_iter().filter(|call| node.has(call));
    let names = ["valid"].into_iter().chain(node.changes.iter().map(|(name, _)| *name));
    Ok(names.flat_map(|row| calls.clone().map(move |call| pair(row, call.to_owned()))).collect())
}

fn outcome(
    cuda: &Cuda,
    kind: &str,
    (row, column): (&str, &str),
    before: &dyn Fn(),
) -> Outcome<String> {
    cuda.primary()?;
    let called = if kind == TYPES {
        let (call, other) = column.split_once(' ').unwrap_or((column, ""));
        let (node, other) = (find(row)?, find(other)?);
        let mut objects = Objects::new(cuda, node.function);
        let made = node.make(&mut objects)?;
        let mut parameters = other.parameters(&mut Objects::new(cuda, other.function))?;
        before();
        other.call(&mut objects, call, made, &mut parameters)?
    } else {
        let node = find(kind)?;
        let mut objects = Objects::new(cuda, node.function);
        let made = node.make(&mut objects)?;
        if column.starts_with("exec") {
            // Instantiate the graph before creating the parameters. They can contain a conditional
            // handle that no node uses, with which the graph couldn't be instantiated.
            objects.graphs("hGraphExec", "CUgraphExec")?;
        }
        let mut parameters = node.parameters(&mut objects)?;
        if let Some((_, change)) = node.changes.iter().find(|(name, _)| *name == row) {
            change(&mut objects, &mut parameters)?;
        }
        before();
        node.call(&mut objects, column, made, &mut parameters)?
    };
    Ok(ended::outcome(cuda, called))
}
