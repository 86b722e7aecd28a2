//! The live table: asks for the statistics again and again, and draws them.
//!
//! | module | what |
//! |---|---|
//! | `state` | two samples and what lies between them |
//! | `view` | the frame |

mod state;
mod view;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use control_api::Stats;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::runtime::Runtime;

use self::state::State;
use crate::cli::{SortKey, TopArgs};
use crate::client::Client;
use crate::error::CtlError;

/// The width of a frame that is printed, if the environment doesn't tell it.
const WIDTH: u16 = 80;

/// Draws until the operator has seen enough.
pub(crate) fn run(
    runtime: &Runtime,
    client: &Client,
    args: &TopArgs,
    json: bool,
) -> Result<(), CtlError> {
    let ask = || runtime.block_on(client.get::<Stats>("/v1/stats"));
    if json {
        return lines(&ask, args);
    }
    let mut state = State::new(args.sort);
    // What is wrong from the start is an error, and no empty table.
    state.add(ask()?);
    if args.once {
        // Rates need two looks.
        std::thread::sleep(args.interval);
        state.add(ask()?);
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let text = view::text(&state, width.unwrap_or(WIDTH).clamp(40, 400));
        return io::stdout().write_all(text.as_bytes()).map_err(CtlError::Output);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let source = io::Error::other("not a terminal; --once prints one frame as text");
        return Err(CtlError::Os { what: "top", source });
    }
    let mut terminal = ratatui::try_init().map_err(CtlError::os("cannot use the terminal"))?;
    let ended = draw(&mut terminal, &mut state, &ask, args.interval);
    ratatui::restore();
    ended.map_err(CtlError::os("cannot use the terminal"))
}

/// The statistics, one line of JSON each time.
fn lines(ask: &impl Fn() -> Result<Stats, CtlError>, args: &TopArgs) -> Result<(), CtlError> {
    loop {
        let stats = ask()?;
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &stats)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
            .and_then(|()| out.flush())
            .map_err(CtlError::Output)?;
        if args.once {
            return Ok(());
        }
        std::thread::sleep(args.interval);
    }
}

fn draw(
    terminal: &mut DefaultTerminal,
    state: &mut State,
    ask: &impl Fn() -> Result<Stats, CtlError>,
    interval: Duration,
) -> io::Result<()> {
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| view::draw(state, frame))?;
        let left = next.saturating_duration_since(Instant::now());
        if event::poll(left)? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    if pressed(state, key.code, control) {
                        return Ok(());
                    }
                }
                // A new size is drawn at once; nothing else matters.
                _ => {}
            }
            continue;
        }
        match ask() {
            Ok(stats) => state.add(stats),
            Err(error) => state.fail(error.to_string()),
        }
        next = Instant::now() + interval;
    }
}

/// Acts on a key. True: that is the end.
fn pressed(state: &mut State, key: KeyCode, control: bool) -> bool {
    match key {
        KeyCode::Char('c') if control => return true,
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('n') => state.sort_by(SortKey::Name),
        KeyCode::Char('m') => state.sort_by(SortKey::Memory),
        KeyCode::Char('s') => state.sort_by(SortKey::Share),
        KeyCode::Char('w') => state.sort_by(SortKey::Throttled),
        KeyCode::Char('l') => state.sort_by(SortKey::Launches),
        KeyCode::Char('c') => state.sort_by(SortKey::Copies),
        KeyCode::Char('r') => state.reverse(),
        KeyCode::Up => state.scroll(-1),
        KeyCode::Down => state.scroll(1),
        KeyCode::PageUp => state.scroll(-10),
        KeyCode::PageDown => state.scroll(10),
        _ => {}
    }
    false
}
