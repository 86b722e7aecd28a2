//! Draws small SVG charts.

use std::fmt::Write;

const COLOURS: [&str; 3] = ["#1f6fb4", "#d1660e", "#3a8f3a"];
const WIDTH: f64 = 640.0;
const LEFT: f64 = 90.0;

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

/// A row of a bar chart: a VM on a GPU, and the periods during which its gate was open.
pub struct Row {
    pub name: String,
    pub colour: usize,
    pub bars: Vec<(f64, f64)>,
}

/// Returns a bar chart of the periods with open gates, over time in milliseconds.
pub fn bars(title: &str, rows: &[Row], span: f64) -> String {
    let height = 34.0 * rows.len() as f64;
    let mut out = begin(title, height);
    let place = |x: f64| LEFT + x / span * WIDTH;
    for tenth in 0..=10 {
        let at = span * f64::from(tenth) / 10.0;
        rule(&mut out, (place(at), 28.0), (place(at), 30.0 + height));
        text(&mut out, place(at), height + 46.0, "middle", "black", &format!("{at:.0} ms"));
    }
    for (at, row) in rows.iter().enumerate() {
        let y = 34.0 + 34.0 * at as f64;
        text(&mut out, LEFT - 6.0, y + 16.0, "end", "black", &row.name);
        for (from, to) in &row.bars {
            let (x, width) = (place(*from), (to - from) / span * WIDTH);
            let colour = COLOURS[row.colour % 3];
            let _ = writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"24\" fill=\"{colour}\"/>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
