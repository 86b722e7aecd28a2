//! Draws small SVG charts.

use std::fmt::Write;

const COLOURS: [&str; 3] = ["#1f6fb4", "#d1660e", "#3a8f3a"];
const WIDTH: f64 = 640.0;
const LEFT: f64 = 90.0;
/// The height of a row in a bar chart.
const ROW: f64 = 34.0;

/// A labeled curve in a line chart.
pub struct Line {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

impl Line {
    pub fn new(name: &'static str) -> Self {
        Line { name, points: Vec::new() }
    }
}

fn begin(title: &str, height: f64) -> String {
    let all = height + 70.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {all}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"760\" height=\"{all}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{title}</text>\n"
    )
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, colour: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
    );
}

fn rule(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ccc\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// Returns a line chart of percentages over time in seconds.
pub fn lines(title: &str, lines: &[Line], seconds: f64) -> String {
    let height = 240.0;
    let mut out = begin(title, height);
    let place =
        |(x, y): (f64, f64)| (LEFT + x / seconds * WIDTH, 30.0 + (1.0 - y / 100.0) * height);
    for percent in [0, 25, 50, 75, 100] {
        let y = f64::from(percent);
        rule(&mut out, place((0.0, y)), place((seconds, y)));
        text(&mut out, LEFT - 6.0, place((0.0, y)).1 + 4.0, "end", "black", &format!("{percent}%"));
    }
    for second in 0..=seconds as u32 {
        let (x, y) = place((f64::from(second), 0.0));
        text(&mut out, x, y + 16.0, "middle", "black", &format!("{second} s"));
    }
    for (at, line) in lines.iter().enumerate() {
        let points: Vec<_> = line
            .points
            .iter()
            .map(|point| place(*point))
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let (colour, points) = (COLOURS[at % 3], points.join(" "));
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
        );
        text(&mut out, LEFT + 220.0 * at as f64, height + 64.0, "start", colour, line.name);
    }
    out.push_str("</svg>\n");
    out
}

/// A period in a row of a bar chart.
pub struct Bar {
    pub from: f64,
    pub to: f64,
    pub colour: &'static str,
    /// Where the bar is in its row, as pixels from the top of the row.
    pub top: f64,
    pub height: f64,
}

impl Bar {
    /// Creates a bar that is as high as its row allows.
    pub fn new((from, to): (f64, f64), colour: &'static str) -> Self {
        Bar { from, to, colour, top: 4.0, height: 24.0 }
    }
}

/// Returns the color of the VM with this index.
pub fn colour(at: usize) -> &'static str {
    COLOURS[at % 3]
}

/// A row of a bar chart, such as a VM on a GPU.
pub struct Row {
    pub name: String,
    pub bars: Vec<Bar>,
    /// Times that get a mark above the bars.
    pub marks: Vec<f64>,
}

/// Returns a bar chart over time in milliseconds.
pub fn bars(title: &str, rows: &[Row], span: f64) -> String {
    let mut out = begin(title, ROW * rows.len() as f64);
    panel(&mut out, 30.0, rows, (0.0, span));
    out.push_str("</svg>\n");
    out
}

/// Draws the part of a bar chart between two times.
fn panel(out: &mut String, top: f64, rows: &[Row], (from, to): (f64, f64)) {
    let (height, span) = (ROW * rows.len() as f64, to - from);
    let place = |x: f64| LEFT + (x - from) / span * WIDTH;
    for tenth in 0..=10 {
        let at = from + span * f64::from(tenth) / 10.0;
        let digits = usize::from(span < 10.0);
        rule(out, (place(at), top - 2.0), (place(at), top + height));
        text(out, place(at), top + height + 16.0, "middle", "black", &format!("{at:.digits$} ms"));
    }
    for (at, row) in rows.iter().enumerate() {
        let y = top + ROW * at as f64;
        text(out, LEFT - 6.0, y + 20.0, "end", "black", &row.name);
        for bar in row.bars.iter().filter(|bar| bar.from < to && bar.to > from) {
            let (start, end) = (bar.from.max(from), bar.to.min(to));
            let (x, width) = (place(start), (end - start) / span * WIDTH);
            let (y, height, colour) = (y + bar.top, bar.height, bar.colour);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{colour}\"/>"
            );
        }
        for mark in row.marks.iter().filter(|mark| (from..=to).contains(mark)) {
            let x = place(*mark);
            let _ = writeln!(
                out,
                "<path d=\"M{:.2} {:.1}h8l-4 6z\" fill=\"black\"/>",
                x - 4.0,
                y - 4.0
            );
        }
    }
}

/// Returns a bar chart with an enlarged part of it underneath and a legend. Times are in
/// milliseconds.
pub fn enlarged(
    title: &str,
    rows: &[Row],
    span: f64,
    part: (f64, f64),
    legend: &[(&'static str, &str)],
) -> String {
    let panel_height = ROW * rows.len() as f64 + 24.0;
    let lines = legend.len().div_ceil(3) as f64;
    let mut out = begin(title, 2.0 * panel_height + 18.0 * lines + 14.0);
    panel(&mut out, 34.0, rows, (0.0, span));
    let top = 34.0 + panel_height + 32.0;
    let subtitle = format!("The same, {:.1} to {:.1} ms:", part.0, part.1);
    text(&mut out, LEFT, top - 14.0, "start", "black", &subtitle);
    panel(&mut out, top, rows, part);
    for (at, (colour, name)) in legend.iter().enumerate() {
        let x = LEFT + 220.0 * (at % 3) as f64;
        let y = top + panel_height + 8.0 + 18.0 * (at / 3) as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"
        );
        text(&mut out, x + 18.0, y + 10.0, "start", "black", name);
    }
    out.push_str("</svg>\n");
    out
}
