//! Draws a frame of `top`: a line about the host, a line per GPU, the table, and a help line.

use control_api::{GpuInfo, GpuState, Stats, format_size};
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::state::{Row, TopState};
use crate::cli::SortKey;
use crate::table::{count, length, printable};

/// Widths of the columns that are wider on wide terminals.
struct Widths {
    vm: usize,
    memory_bar: usize,
    share_bar: usize,
    waits_for: usize,
}

impl Widths {
    /// Chooses the columns' widths for a terminal that is `width` characters wide. In 80
    /// characters, the table has no bars for memory. Names, bars, and reasons get any additional
    /// width.
    fn of(width: u16) -> Self {
        let more = usize::from(width).saturating_sub(80);
        let vm = (more / 3).min(16);
        let waits_for = (more / 4).min(20);
        let bars = ((more - vm - waits_for) / 2).min(24);
        let memory_bar = if bars < 6 { 0 } else { bars };
        Self { vm: 8 + vm, memory_bar, share_bar: 5 + bars, waits_for: 8 + waits_for }
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['~']).collect()
}

/// Returns a bar that is `width` characters long. The fraction `part` of it is filled. The
/// character at the fraction `mark` is a mark.
fn bar(part: f64, width: usize, mark: Option<f64>) -> String {
    let place = |part: f64| (part.clamp(0.0, 1.0) * width as f64).round() as usize;
    let full = place(part);
    let mark = mark.map(|mark| place(mark).clamp(1, width) - 1);
    (0..width)
        .map(|at| match at {
            at if Some(at) == mark => '┃',
            at if at < full => '█',
            _ => '░',
        })
        .collect()
}

fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// Returns the color of a bar that is filled to the fraction `part`: green below 80%, yellow from
/// 80%, and red from 95%.
fn fullness(part: f64) -> Style {
    Style::new().fg(match part {
        part if part < 0.8 => Color::Green,
        part if part < 0.95 => Color::Yellow,
        _ => Color::Red,
    })
}

fn host_line(stats: &Stats) -> Line<'static> {
    let up = length(stats.time_ms.saturating_sub(stats.started_ms) / 1000);
    let sessions: u32 = stats.vms.iter().map(|vm| vm.sessions).fold(0, u32::saturating_add);
    let workers = &stats.workers;
    let mut text = format!(
        "vcudad up {up}   VMs {}   sessions {sessions}   workers {} ready, {} serving",
        stats.vms.len(),
        workers.warm,
        workers.assigned
    );
    if stats.scheduler.restarts > 0 {
        text.push_str(&format!("   scheduler restarts {}", stats.scheduler.restarts));
    }
    if stats.config.as_ref().is_some_and(|file| file.refused.is_some()) {
        text.push_str("   configuration REFUSED (vcudactl doctor)");
    }
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

/// Returns the line about a GPU, and a second line if the GPU had a fault.
fn gpu_lines(gpu: &GpuInfo) -> Vec<Line<'static>> {
    let part = ratio(gpu.memory_used, gpu.memory_total);
    let promised = ratio(gpu.memory_promised, gpu.memory_total);
    let name = cut(&printable(&gpu.name), 18);
    let memory = format!("{}/{}", format_size(gpu.memory_used), format_size(gpu.memory_total));
    let mut lines = vec![Line::from(vec![
        Span::raw(format!("GPU {:<2} {name:<18} ", gpu.index)),
        Span::styled(bar(part, 16, Some(promised)), fullness(part)),
        Span::raw(format!(" {memory:>11}  promised {}", format_size(gpu.memory_promised))),
    ])];
    if gpu.state == GpuState::Faulty {
        let fault = printable(gpu.last_fault.as_deref().unwrap_or("unknown"));
        let text = format!("       faulty, does not accept new VMs: {fault}");
        lines.push(Line::styled(text, Style::new().fg(Color::Red)));
    }
    lines
}

fn head(widths: &Widths, key: SortKey) -> Line<'static> {
    let Widths { vm, memory_bar, share_bar, waits_for } = *widths;
    // Underline the name of the column by which the table is sorted.
    let sorted = |text: String, by: Option<SortKey>| {
        let style = Style::new().add_modifier(Modifier::BOLD);
        let style = if by == Some(key) { style.add_modifier(Modifier::UNDERLINED) } else { style };
        [Span::styled(text, style), Span::raw(" ")]
    };
    let columns = [
        sorted(format!("{:<vm$}", "VM"), Some(SortKey::Name)),
        sorted("GPU".into(), None),
        sorted(format!("{:>width$}", "MEM/MAX", width = 11 + memory_bar), Some(SortKey::Memory)),
        sorted(format!("{:<share_bar$}", "SHARE"), Some(SortKey::Share)),
        sorted(" 1s%".into(), None),
        sorted("10s%".into(), None),
        sorted(" OF%".into(), None),
        sorted("CAP%".into(), None),
        sorted("WAIT".into(), Some(SortKey::Throttled)),
        sorted("LAUN/s".into(), Some(SortKey::Launches)),
        sorted("GB/s".into(), Some(SortKey::Copies)),
        sorted("SES".into(), None),
        sorted(format!("{:<waits_for$}", "FOR"), None),
    ];
    Line::from(columns.into_iter().flatten().collect::<Vec<_>>())
}

/// Formats a share as a percentage in at most four characters.
fn percent(share: f64) -> String {
    match share * 100.0 {
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Formats bytes per second as GB/s in at most four characters.
fn gigabytes(bytes: f64) -> String {
    match bytes / 1e9 {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// The style of the name of a VM that has failed.
const FAILED: Style = Style::new().fg(Color::Red);

fn row_line(row: &Row, widths: &Widths) -> Line<'static> {
    let Widths { vm, memory_bar, share_bar, waits_for } = *widths;
    let memory = ratio(row.used, row.max);
    let used = format!("{}/{}", format_size(row.used), format_size(row.max));
    let waited = row.waited.map_or("-".into(), |waited| format!("{:.0}%", waited * 100.0));
    let [launches, copied, sessions] = match &row.whole {
        Some(whole) => [
            whole.launches.map_or("-".into(), count),
            whole.copied.map_or("-".into(), gigabytes),
            whole.sessions.to_string(),
        ],
        None => [const { String::new() }; 3],
    };
    let name = cut(&row.vm, vm);
    let share = match row.failed {
        true => Span::styled(format!("{:<share_bar$}", "failed"), FAILED),
        false => Span::styled(
            bar(row.share_1s, share_bar, Some(row.promised)),
            Style::new().fg(Color::Cyan),
        ),
    };
    let reason = match &row.waits_for {
        Some((full, _)) if full.chars().count() <= waits_for => full,
        Some((_, short)) => *short,
        None => "",
    };
    let busy = row.waited.is_some_and(|waited| waited > 0.5);
    Line::from(vec![
        Span::styled(
            format!("{name:<vm$} {:>3} ", row.gpu),
            if row.failed { FAILED } else { Style::new() },
        ),
        Span::styled(bar(memory, memory_bar.saturating_sub(1), None), fullness(memory)),
        Span::raw(format!("{used:>width$} ", width = 11 + memory_bar.min(1))),
        share,
        Span::raw(format!(
            " {:>4} {:>4} {:>4} {:>4} ",
            percent(row.share_1s),
            percent(row.share_10s),
            percent(row.promised),
            percent(row.cap)
        )),
        Span::styled(
            format!("{waited:>4}"),
            if busy { Style::new().fg(Color::Yellow) } else { Style::new() },
        ),
        Span::raw(format!(" {launches:>6} {copied:>4} {sessions:>3} {reason}")),
    ])
}

/// Returns all lines except the help line, for a screen of `height` rows.
fn lines(state: &TopState, width: u16, height: usize) -> Vec<Line<'static>> {
    let Some(stats) = state.now() else { return vec![Line::raw("waiting for vcudad")] };
    let mut lines = vec![host_line(stats)];
    // The lines about GPUs take at most a third of the screen.
    lines.extend(stats.gpus.iter().flat_map(gpu_lines).take((height / 3).max(1)));
    lines.push(Line::default());
    let widths = Widths::of(width);
    lines.push(head(&widths, state.key()));
    let rows = state.rows();
    if rows.is_empty() {
        lines.push(Line::raw("no VMs; add one with vcudactl vm add"));
    }
    // A VM that couldn't be placed on a GPU has no row in the table, so show it in another way.
    let unplaced = stats.vms.iter().filter(|vm| vm.failed && vm.gpus.is_empty());
    lines.extend(unplaced.map(|vm| {
        let name = cut(&printable(&vm.name), widths.vm);
        Line::styled(format!("{name:<width$}   - failed", width = widths.vm), FAILED)
    }));
    lines.extend(rows.iter().skip(state.skipped()).map(|row| row_line(row, &widths)));
    lines
}

fn last_line(state: &TopState) -> Line<'static> {
    const HELP: &str =
        "q quit  sort: n name m memory s share w wait l launches c copies  r reverse";
    match state.problem() {
        Some(problem) => Line::styled(printable(problem), Style::new().fg(Color::Red)),
        None => Line::styled(HELP, Style::new().add_modifier(Modifier::DIM)),
    }
}

/// Draws the frame on the terminal.
pub(super) fn draw(state: &TopState, frame: &mut Frame<'_>) {
    let area = frame.area();
    let body = Rect { height: area.height.saturating_sub(1), ..area };
    let last = Rect { y: area.y + body.height, height: area.height.min(1), ..area };
    let lines = lines(state, area.width, body.height.into());
    frame.render_widget(Paragraph::new(lines), body);
    frame.render_widget(Paragraph::new(last_line(state)), last);
}

/// Returns the frame as text, with all its lines except the help line.
pub(super) fn text(state: &TopState, width: u16) -> String {
    let lines = lines(state, width, 48);
    let backend = TestBackend::new(width, lines.len().try_into().unwrap_or(u16::MAX));
    let Ok(mut terminal) = Terminal::new(backend);
    let Ok(_) = terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area()));
    screen(&terminal)
}

/// Returns the text on the screen of a test terminal.
fn screen(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for line in buffer.content().chunks(buffer.area.width.into()) {
        let symbols: String = line.iter().map(|cell| cell.symbol()).collect();
        text.push_str(symbols.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use control_api::{Wait, WaitReason};

    use super::super::state::tests::state;
    use super::*;

    fn on_screen(state: &TopState, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(state, frame)).unwrap();
        screen(&terminal)
    }

    /// Checks that the picture in the manual is current. Set `VIRTIO_CUDA_WRITE_DOCS=1` to update
    /// it.
    #[test]
    fn the_manual_shows_the_current_picture() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vcudactl.md");
        let manual = std::fs::read_to_string(path).unwrap();
        let begin = "<!-- drawn by: cargo test -p vcudactl -->\n```text\n";
        let (before, rest) = manual.split_once(begin).unwrap();
        let (picture, after) = rest.split_once("```\n").unwrap();
        let drawn = on_screen(&state(), 80, 13);
        if std::env::var_os("VIRTIO_CUDA_WRITE_DOCS").is_some() {
            std::fs::write(path, format!("{before}{begin}{drawn}```\n{after}")).unwrap();
        } else {
            assert_eq!(
                picture, drawn,
                "to update it: VIRTIO_CUDA_WRITE_DOCS=1 cargo test -p vcudactl"
            );
        }
    }

    #[test]
    fn the_table_fits_eighty_columns() {
        for line in on_screen(&state(), 80, 24).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let text = text(&state(), 80);
        let row = text.lines().find(|line| line.starts_with("web")).unwrap();
        for part in ["6.50G/8G", "30.2", "30.3", "30.0", "100", "64%", "12.0k", "1.50", " 1"] {
            assert!(row.contains(part), "{part} in {row}");
        }
    }

    #[test]
    fn a_paused_vm_is_marked() {
        let [_, mut stats] = super::super::state::tests::samples();
        let paused = Wait { reason: WaitReason::Paused, vm: None };
        let web = stats.vms.iter_mut().find(|vm| vm.name == "web").unwrap();
        web.gpus[0].waits_for = Some(paused);
        let mut state = TopState::new(SortKey::Name);
        state.add(stats);
        for line in text(&state, 80).lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert_eq!(line.ends_with(" paused"), line.starts_with("web"), "{line}");
        }
    }

    #[test]
    fn a_failed_vm_is_red() {
        let [_, mut stats] = super::super::state::tests::samples();
        stats.vms.iter_mut().filter(|vm| vm.name == "web").for_each(|vm| vm.failed = true);
        stats.vms.push(control_api::VmStats {
            name: "unplaced".into(),
            failed: true,
            ..control_api::VmStats::default()
        });
        let mut state = TopState::new(SortKey::Name);
        state.add(stats);
        let below_gpus = |line: &Line<'_>| !line.to_string().contains("faulty");
        for line in lines(&state, 80, 40).into_iter().filter(below_gpus) {
            let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
            let red = line.style.fg == Some(Color::Red)
                || line.spans.iter().any(|span| {
                    span.style.fg == Some(Color::Red) && span.content.contains("failed")
                });
            let failed = text.starts_with("web") || text.starts_with("unplaced");
            assert_eq!((red, text.contains(" failed")), (failed, failed), "{text}");
        }
    }

    #[test]
    fn any_screen_size_can_be_drawn() {
        let mut state = state();
        state.fail("vcudad does not respond".into());
        for width in [1, 2, 10, 40, 79, 80, 81, 100, 200, 400] {
            for height in [1, 2, 3, 7, 24, 100] {
                on_screen(&state, width, height);
            }
        }
        let text = on_screen(&state, 80, 24);
        assert!(text.trim_end().ends_with("vcudad does not respond"), "{text}");
        assert!(text.contains("training"), "the last sample is still shown");
    }

    #[test]
    fn bars_show_parts_and_promises() {
        assert_eq!(bar(0.0, 4, None), "░░░░");
        assert_eq!(bar(0.5, 4, None), "██░░");
        assert_eq!(bar(2.0, 4, None), "████");
        assert_eq!(bar(f64::NAN, 4, None), "░░░░");
        assert_eq!(bar(0.5, 4, Some(1.0)), "██░┃");
        assert_eq!(bar(0.5, 4, Some(0.0)), "┃█░░");
    }

    #[test]
    fn without_vms_the_screen_says_how_to_add_one() {
        let mut state = TopState::new(SortKey::Name);
        assert!(text(&state, 80).contains("waiting"));
        state.add(Stats::default());
        assert!(text(&state, 80).contains("vcudactl vm add"));
    }
}
