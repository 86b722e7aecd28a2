//! The main loop of `top`, which fetches statistics, draws them, and handles keys.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use control_api::Stats;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::runtime::Runtime;

use super::state::TopState;
use super::view;
use crate::cli::{SortKey, TopArgs};
use crate::client::Client;
use crate::error::CtlError;

/// Width of a frame that is printed as text, if COLUMNS isn't set.
const WIDTH: u16 = 80;

/// Runs `top` until the operator quits. With `--once`, prints one frame as text and returns. With
/// `--json`, prints lines of JSON.
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
    let mut state = TopState::new(args.sort);
    // If the first request fails, exit with an error instead of showing an empty table.
    state.add(ask()?);
    if args.once {
        // Take a second sample, because rates are computed from two samples.
        std::thread::sleep(args.interval);
        state.add(ask()?);
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let text = view::text(&state, width.unwrap_or(WIDTH).clamp(40, 400));
        return io::stdout().write_all(text.as_bytes()).map_err(CtlError::Output);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let source =
            io::Error::other("standard input and output must be a terminal; use --once or --json");
        return Err(CtlError::Os { what: "top".into(), source });
    }
    let mut terminal = ratatui::try_init().map_err(CtlError::os("cannot use the terminal"))?;
    let result = draw(&mut terminal, &mut state, &ask, args.interval);
    ratatui::restore();
    result.map_err(CtlError::os("cannot use the terminal"))
}

/// Prints each sample of the statistics as one line of JSON.
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
    state: &mut TopState,
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
                // Other events need no action. After a resize, the next iteration of the loop
                // redraws.
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

/// Handles a key press. Returns whether the program should quit.
fn pressed(state: &mut TopState, key: KeyCode, control: bool) -> bool {
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
