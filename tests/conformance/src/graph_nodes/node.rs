//! The types of nodes, and the calls that take their parameters.

use super::changes::{self, graph};
use crate::arguments::call::{Argument, call};
use crate::arguments::objects::{Objects, keep};
use crate::cuda::{Outcome, cu};
use cuda_api::sys::{
    CUgraphNode, CUgraphNodeParams, CUgraphNodeParams_st__bindgen_ty_1 as Union, CUgraphNodeType,
};
use std::ptr::{null, null_mut};

/// A type of node, with its valid parameters and its calls.
pub struct Type {
    pub name: &'static str,
    pub number: CUgraphNodeType,
    /// The name of an entry point for nodes of this type. It determines the node that
    /// [`Objects::node`] creates.
    pub function: &'static str,
    /// The entry points `add`, `get`, `set`, and `exec` that are specific to this type, or `None`
    /// where there is none.
    pub calls: [Option<&'static str>; 4],
    /// The form in which the type-specific entry points take the parameters.
    pub form: Form,
    /// The function that creates valid parameters.
    pub create: fn(&mut Objects<'_>) -> Outcome<Union>,
    pub changes: &'static [changes::Named],
}

/// The form in which the entry points for a type of node take the parameters.
pub enum Form {
    /// They take the address of the type's structure.
    Structure,
    /// They take the address of a structure at the first offset in the parameters. If the node is
    /// added or is in an executable graph, they also take the context at the second offset.
    WithContext(usize, usize),
    /// They take a single handle or address instead of a structure.
    Word,
    /// There are no entry points that take parameters of this type.
    None,
}

impl Type {
    /// Returns whether this type of node has the call, which can be a type-specific entry point or
    /// one for all types.
    pub fn has(&self, call: &str) -> bool {
        match call {
            "add" => self.calls[0].is_some(),
            "get" => self.calls[1].is_some(),
            "set" => self.calls[2].is_some(),
            "exec" => self.calls[3].is_some(),
            _ => true,
        }
    }

    /// Adds a node of this type with valid parameters to the graph.
    pub fn make(&self, objects: &mut Objects<'_>) -> Outcome<CUgraphNode> {
        let by_calls = !matches!(self.form, Form::None);
        if by_calls {
            return Ok(objects.node()? as CUgraphNode);
        }
        let (cuda, graph, mut node) = (objects.cuda, graph(objects)?, null_mut());
        let mut parameters = self.parameters(objects)?;
        cu!(cuda, cuGraphAddNode_v2(&mut node, graph, null(), null(), 0, &mut parameters))?;
        Ok(node)
    }

    /// Returns valid parameters for a node of this type.
    pub fn parameters(&self, objects: &mut Objects<'_>) -> Outcome<CUgraphNodeParams> {
        let mut parameters = CUgraphNodeParams { type_: self.number, ..Default::default() };
        parameters.__bindgen_anon_1 = (self.create)(objects)?;
        Ok(parameters)
    }

    /// Calls an entry point with a node and parameters, and returns the result.
    pub fn call(
        &self,
        objects: &mut Objects<'_>,
        name: &str,
        node: CUgraphNode,
        parameters: &mut CUgraphNodeParams,
    ) -> Outcome<u32> {
        let (cuda, graph) = (objects.cuda, graph(objects)?);
        let all = std::ptr::from_mut(parameters) as u64;
        let own = all + std::mem::offset_of!(CUgraphNodeParams, __bindgen_anon_1) as u64;
        let entry = |at: usize| self.calls[at].unwrap_or("cuGraphAddNode_v2");
        let call = |entry, words: Vec<u64>| {
            let words: Vec<Argument> = words.into_iter().map(Argument::Word).collect();
            call(cuda, entry, &words)
        };
        // Read the parameter words that the entry point takes.
        // SAFETY: `WithContext` and `Word` use only offsets within the parameters.
        let word = |at: u64| unsafe { *(at as *const u64) };
        let (own, context) = match self.form {
            Form::Structure => (vec![own], vec![]),
            Form::WithContext(structure, context) => {
                (vec![own + structure as u64], vec![word(own + context as u64)])
            }
            Form::Word => (vec![word(own)], vec![]),
            Form::None => (vec![], vec![]),
        };
        let output = keep([0u64; 64]);
        let (graph_word, node_word) = (graph as u64, node as u64);
        Ok(match name {
            "get" => call(entry(1), vec![node_word, output]),
            "set" => call(entry(2), [vec![node_word], own].concat()),
            "exec" => {
                let exec = objects.graphs("hGraphExec", "CUgraphExec")?;
                call(entry(3), [vec![exec, node_word], own, context].concat())
            }
            "set-any" => call("cuGraphNodeSetParams", vec![node_word, all]),
            "exec-any" => {
                let exec = objects.graphs("hGraphExec", "CUgraphExec")?;
                call("cuGraphExecNodeSetParams", vec![exec, node_word, all])
            }
            "add-any" => call("cuGraphAddNode_v2", vec![output, graph_word, 0, 0, 0, all]),
            _ => {
                let added = match self.has("add") {
                    true => {
                        let words = [vec![output, graph_word, 0, 0], own, context].concat();
                        call(entry(0), words)
                    }
                    false => call("cuGraphAddNode_v2", vec![output, graph_word, 0, 0, 0, all]),
                };
                match (name, added) {
                    ("instantiate", 0) => {
                        let exec = keep(0u64);
                        call("cuGraphInstantiateWithFlags", vec![exec, graph_word, 0])
                    }
                    _ => added,
                }
            }
        })
    }
}
