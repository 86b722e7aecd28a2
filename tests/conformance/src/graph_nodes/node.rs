//! A type of node, and the calls for it.

use super::changes::{self, graph};
use crate::arguments::call::{Argument, call};
use crate::arguments::objects::{Objects, keep};
use crate::cuda::{Outcome, cu};
use cuda_api::sys::{
    CUgraphNode, CUgraphNodeParams, CUgraphNodeParams_st__bindgen_ty_1 as Union, CUgraphNodeType,
};
use std::ptr::{null, null_mut};

/// A type of node.
pub struct Type {
    pub name: &'static str,
    pub number: CUgraphNodeType,
    /// An entry point for this type, which determines the node that [`Objects::node`] creates.
    pub function: &'static str,
    /// The calls `add`, `get`, `set`, and `exec` for this type, as far as they exist.
    pub calls: [Option<&'static str>; 4],
    /// How these calls get the parameters.
    pub form: Form,
    /// Creates valid parameters.
    pub create: fn(&mut Objects<'_>) -> Outcome<Union>,
    pub changes: &'static [changes::Named],
}

/// How the calls for a type of node get the parameters.
pub enum Form {
    /// As the address of the structure.
    Structure,
    /// As the address of the structure at an offset, followed by a context at another offset if the
    /// node is added or is part of an executable graph.
    WithContext(usize, usize),
    /// As a handle or an address.
    Word,
    /// They get none.
    None,
}

impl Type {
    /// Returns whether there is a call for this type of node.
    pub fn has(&self, call: &str) -> bool {
        match call {
            "add" => self.calls[0].is_some(),
            "get" => self.calls[1].is_some(),
            "set" => self.calls[2].is_some(),
            "exec" => self.calls[3].is_some(),
            _ => true,
        }
    }

    /// Adds a valid node of this type to the graph.
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

    /// Returns valid parameters for another node.
    pub fn parameters(&self, objects: &mut Objects<'_>) -> Outcome<CUgraphNodeParams> {
        let mut parameters = CUgraphNodeParams { type_: self.number, ..Default::default() };
        parameters.__bindgen_anon_1 = (self.create)(objects)?;
        Ok(parameters)
    }

    /// Makes a call with a node and parameters, and returns its result.
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
        // The arguments for the parameters, and the context that follows some of them.
        // SAFETY: both offsets are within the parameters.
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
