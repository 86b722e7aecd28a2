//! Observes when a copy or memset returns, and prints tables of such observations.

use super::gate::Gate;
use super::memory::{Kind, Spot};
use super::probe::{Marks, Probe, all};
use super::rule::Rule;
use crate::cuda::{CallError, Called, Cuda, DefaultStream, Outcome, cu, ensure, get};
use cuda_api::sys::CUstream;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::time::Duration;

/// Maximum number of wrong letters in a case. Each may take seconds, so the case doesn't make
/// further calls after that.
const ENOUGH: usize = 10;

/// The shape of a copy: the width of a row in bytes, the number of rows and of slices, and the
/// distance between rows in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub pitch: usize,
    /// The offsets of the source and the destination in their memory, in bytes.
    pub offsets: [usize; 2],
}

impl Shape {
    /// Returns the shape of a copy of contiguous bytes.
    pub const fn row(width: usize) -> Self {
        Self { width, height: 1, depth: 1, pitch: width, offsets: [0, 0] }
    }

    fn marks(&self) -> Marks {
        let last = self.pitch * (self.height * self.depth - 1);
        [0, last / 2 / self.pitch * self.pitch + self.width / 2, last + self.width - 1]
    }
}

/// The parameters of one copy or memset.
pub struct Request {
    pub dst: Spot,
    pub src: Spot,
    pub shape: Shape,
    /// The byte with which a memset fills its destination.
    pub value: u8,
    pub stream: CUstream,
}

/// An entry point, and the kinds of memory and the shapes to test it with.
pub struct Form {
    pub name: &'static str,
    /// Whether the entry point has a stream parameter.
    pub streamed: bool,
    pub rule: Rule,
    pub sources: &'static [Kind],
    pub destinations: &'static [Kind],
    pub shapes: &'static [Shape],
    pub call: fn(&Cuda, &Request) -> Called,
}

impl Form {
    /// Default values for an entry point that copies linear memory.
    pub const ANY: Self = Self {
        name: "",
        streamed: false,
        rule: Rule::Copy,
        sources: Kind::LINEAR,
        destinations: Kind::LINEAR,
        shapes: &[],
        call: |_, _| Ok(()),
    };
}

/// The state that all observations of a case share.
struct Lab<'a> {
    cuda: &'a Cuda,
    gate: Gate,
    probe: Probe<'a>,
    /// The stream that is passed to entry points with a stream parameter.
    stream: CUstream,
    /// For each kind of memory, a spot for the source and one for the destination.
    spots: Vec<(Spot, Spot)>,
    /// The value that was written last. Each write uses the next value.
    last: Cell<u8>,
    observed: Cell<usize>,
    wrong: Cell<usize>,
}

/// The observations of one call.
struct Seen {
    /// Whether the CPU saw the new values at the destination's marks when the call had returned.
    /// `on_gpu` is the same for the GPU.
    on_cpu: bool,
    on_gpu: bool,
    /// The contents of the destination after all work has finished.
    finally: Final,
}

#[derive(PartialEq)]
enum Final {
    /// The bytes that the source contained during the call.
    Passed,
    /// The bytes that were written to the source after the call had returned.
    Later,
    Neither,
}

impl<'a> Lab<'a> {
    fn new(cuda: &'a Cuda, kinds: &[Kind]) -> Outcome<Self> {
        let (gate, probe) = (Gate::new(cuda)?, Probe::new(cuda)?);
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let mut spots = Vec::new();
        for kind in kinds {
            spots.push((Spot::new(cuda, *kind)?, Spot::new(cuda, *kind)?));
        }
        let (last, observed, wrong) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Ok(Self { cuda, gate, probe, stream, spots, last, observed, wrong })
    }

    fn next(&self) -> u8 {
        self.last.set(self.last.get() % 250 + 1);
        self.last.get()
    }

    fn spots(&self, kind: Kind) -> (Spot, Spot) {
        let found = self.spots.iter().find(|(spot, _)| spot.kind == kind);
        *found.expect("the case has asked for this kind")
    }

    /// Makes a call, and observes whether it returned before earlier work in the stream had
    /// finished, and what it had done by then. If `gate` is set, earlier work is held back until
    /// the call has returned, but not longer than this time.
    fn once(
        &self,
        form: &Form,
        (src, dst): (Spot, Spot),
        shape: Shape,
        gate: Option<Duration>,
    ) -> Outcome<Result<(bool, Seen), CallError>> {
        let (marks, cuda, probe) = (shape.marks(), self.cuda, &self.probe);
        let created =
            matches!(form.rule, Rule::Batch(_)) || cuda.default_stream() == DefaultStream::Legacy;
        let stream = if form.streamed && created { self.stream } else { null_mut() };
        let (before, passed, later) = (self.next(), self.next(), self.next());
        let copies = !form.sources.is_empty();
        probe.paint(dst, marks, before)?;
        if copies {
            probe.paint(src, marks, passed)?;
        }
        if let Some(limit) = gate {
            self.gate.close(cuda, stream, limit)?;
        }
        let request = Request { dst, src, shape, value: passed, stream };
        let called = (form.call)(cuda, &request);
        let returned = gate.is_some() && self.gate.hold();
        let on_cpu = dst.kind.on_cpu() && all(probe.on_cpu(dst, marks), passed);
        if copies && called.is_ok() {
            probe.paint(src, marks, later)?;
        }
        let on_gpu = dst.kind.on_gpu() && all(probe.on_gpu(dst, marks)?, passed);
        let held = gate.is_none() || self.gate.open() || !returned;
        cu!(cuda, cuStreamSynchronize(stream))?;
        if let Err(error) = called {
            return Ok(Err(error));
        }
        ensure!(held, "{} kept another stream waiting", form.name);
        let last = probe.finally(dst, marks)?;
        let finally = match last {
            _ if all(last, passed) => Final::Passed,
            _ if all(last, later) => Final::Later,
            _ => Final::Neither,
        };
        Ok(Ok((returned, Seen { on_cpu, on_gpu, finally })))
    }

    /// Makes a call twice, and returns the letter that describes when it returned (see the table in
    /// [`super`]).
    fn observe(&self, form: &Form, spots: (Spot, Spot), shape: Shape) -> Outcome<char> {
        let kinds = (spots.0.kind, spots.1.kind);
        let limit = form.rule.limit(form.streamed, kinds);
        let first = self.once(form, spots, shape, None)?;
        let second = self.once(form, spots, shape, Some(limit))?;
        self.observed.set(self.observed.get() + 1);
        let ((_, first), (returned, second)) = match (first, second) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        let passed = |seen: &Seen| seen.finally == Final::Passed;
        if !returned {
            let everywhere = |seen: &Seen| {
                (!kinds.1.on_cpu() || seen.on_cpu) && (!kinds.1.on_gpu() || seen.on_gpu)
            };
            return Ok(match (passed(&first) && passed(&second), form.rule.done(kinds)) {
                (false, _) => 'u',
                (true, true) if !everywhere(&first) || !everywhere(&second) => 'w',
                _ => 'W',
            });
        }
        Ok(match second.finally {
            _ if second.on_cpu || second.on_gpu => 'X',
            Final::Passed if form.sources.is_empty() => 'R',
            Final::Passed if passed(&first) => 'S',
            Final::Passed => 'u',
            Final::Later => 'R',
            Final::Neither => '?',
        })
    }

    /// Prints a line for each source. For each destination, the line contains a letter per shape,
    /// or one letter if those of all shapes are equal.
    fn print(&self, form: &Form) -> Outcome {
        let none: &[Kind] = &[Kind::Device];
        let sources = if form.sources.is_empty() { none } else { form.sources };
        for source in sources {
            let mut lines = BTreeMap::<String, String>::new();
            for destination in form.destinations {
                let (kinds, mut letters) = ((*source, *destination), String::new());
                for shape in form.shapes {
                    let src = self.spots(*source).0.skip(shape.offsets[0]);
                    let dst = self.spots(*destination).1.skip(shape.offsets[1]);
                    if self.wrong.get() == ENOUGH {
                        letters.push('-');
                        continue;
                    }
                    let seen = self.observe(form, (src, dst), *shape)?;
                    let letter = form.rule.judge(form.streamed, kinds, seen);
                    self.wrong.set(self.wrong.get() + usize::from(letter.is_err()));
                    letters.push(letter.unwrap_or_else(|wrong| wrong));
                }
                let first = letters.chars().next().unwrap_or('-');
                if letters.chars().all(|letter| letter == first) {
                    letters.truncate(1);
                }
                lines.entry(letters).or_default().push(destination.letter());
            }
            let from = match form.sources.is_empty() {
                true => String::new(),
                false => format!(" {}", source.letter()),
            };
            let lines: Vec<_> =
                lines.iter().map(|(letters, to)| format!("{to}={letters}")).collect();
            println!("{}{from} > {}", form.name, lines.join(" "));
        }
        Ok(())
    }
}

/// Prints the tables for entry points. `kinds` are the kinds of memory that they use. Fails if a
/// letter is wrong.
pub fn tables(cuda: &Cuda, kinds: &[Kind], forms: &[Form]) -> Outcome {
    cuda.primary()?;
    let lab = Lab::new(cuda, kinds)?;
    for form in forms {
        lab.print(form)?;
    }
    let (observed, wrong) = (lab.observed.get(), lab.wrong.get());
    println!("{observed} combinations");
    ensure!(wrong == 0, "{wrong} of {observed} letters are wrong; see the lines above");
    Ok(())
}
