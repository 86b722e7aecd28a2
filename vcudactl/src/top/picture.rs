//! Draws docs/top.svg, a picture of the `top` table on a wide terminal.

use std::fmt::Write;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::{state, view};

/// Size of the terminal, in characters.
const SIZE: (u16, u16) = (112, 13);
/// Size of a character, in pixels.
const CHARACTER: (f64, f64) = (9.6, 20.0);

fn color(cell: &Cell) -> &'static str {
    match cell.fg {
        Color::Green => "#00cd00",
        Color::Cyan => "#00cdcd",
        Color::Yellow => "#cdcd00",
        Color::Red => "#ff5f57",
        _ if cell.modifier.contains(Modifier::DIM) => "#8a8c8b",
        _ => "#c5c8c6",
    }
}

/// Returns the SVG text element for adjacent cells that have the same style.
fn text(cells: &[Cell], at: (usize, usize)) -> String {
    let symbols: String = cells.iter().map(|cell| cell.symbol()).collect();
    let (shown, column) = (symbols.trim(), at.0 + symbols.len() - symbols.trim_start().len());
    if shown.is_empty() {
        return String::new();
    }
    let (x, y) = ((column + 1) as f64 * CHARACTER.0, (at.1 as f64 + 1.75) * CHARACTER.1);
    let has = |modifier| cells.iter().any(|cell| cell.modifier.contains(modifier));
    let bold = if has(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let line = if has(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
    let (width, fill) = (shown.chars().count() as f64 * CHARACTER.0, color(&cells[0]));
    // Set the length of the text. Otherwise, columns wouldn't be aligned if the font lacks the
    // bars' characters, because another font's characters may have a different width.
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{width:.1}\" fill=\"{fill}\"{bold}{line}>{shown}</text>\n"
    )
}

fn picture() -> String {
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    terminal.draw(|frame| view::draw(&state::tests::state(), frame)).unwrap();
    let width = f64::from(SIZE.0 + 2) * CHARACTER.0;
    let height = f64::from(SIZE.1 + 2) * CHARACTER.1;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         xml:space=\"preserve\" \
         font-family=\"ui-monospace, DejaVu Sans Mono, Menlo, monospace\" font-size=\"16\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#292929\"/>\n"
    );
    let buffer = terminal.backend().buffer();
    for (row, line) in buffer.content().chunks(SIZE.0.into()).enumerate() {
        let mut column = 0;
        for cells in line.chunk_by(|a, b| a.style() == b.style()) {
            svg.push_str(&text(cells, (column, row)));
            column += cells.len();
        }
    }
    writeln!(svg, "</svg>").unwrap();
    svg
}

/// Checks that docs/top.svg is current. Set `VIRTIO_CUDA_WRITE_DOCS=1` to draw it again.
#[test]
fn the_quickstart_shows_the_current_picture() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/top.svg");
    if std::env::var_os("VIRTIO_CUDA_WRITE_DOCS").is_some() {
        std::fs::write(path, picture()).unwrap();
    }
    let is_current = std::fs::read_to_string(path).unwrap() == picture();
    assert!(is_current, "to update it: VIRTIO_CUDA_WRITE_DOCS=1 cargo test -p vcudactl");
}
