//! Line charts over time as SVG text, for the HTML page.

use std::fmt::Write;

use super::html::escape;
use super::table::grouped;

const COLOURS: [&str; 6] = ["#2f6feb", "#d1580d", "#1a7f37", "#8250df", "#bf3989", "#8a6d00"];
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
/// Room for the legend below the axis.
const LEGEND: f64 = 20.0;
/// The smallest value that a logarithmic scale shows: a microsecond, when values are milliseconds.
const SMALLEST: f64 = 1e-3;
const TIME_LABELS: usize = 6;
const VALUE_LABELS: usize = 4;

/// A named line: (second, value).
pub type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Draws lines over seconds; time zero, where the warm-up ends, gets a mark.
pub fn chart(lines: &[Line<'_>], logarithmic: bool) -> String {
    let Some(scale) = Scale::fit(lines, logarithmic) else {
        return "<p>too short for a chart</p>".to_string();
    };
    let mut svg = format!("<svg viewBox='0 0 {WIDTH} {}' role=img>", HEIGHT + LEGEND);
    let drawn = draw_axes(&mut svg, &scale).and_then(|()| draw_lines(&mut svg, &scale, lines));
    drawn.expect("writing to a String cannot fail");
    svg.push_str("</svg>\n");
    svg
}

/// Maps data to places in the picture.
struct Scale {
    first: f64,
    last: f64,
    /// Bounds of the value axis; exponents of ten when logarithmic.
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    /// `None` when the points do not span any time.
    fn fit(lines: &[Line<'_>], logarithmic: bool) -> Option<Scale> {
        let (mut first, mut last, mut low, mut high) = (f64::MAX, f64::MIN, f64::MAX, f64::MIN);
        for (x, y) in lines.iter().flat_map(|(_, points)| points.iter().copied()) {
            (first, last) = (first.min(x), last.max(x));
            (low, high) = (low.min(y), high.max(y));
        }
        // A logarithmic scale spans whole decades; a linear one starts at zero.
        let (low, high) = if logarithmic {
            let low = low.max(SMALLEST).log10().floor();
            (low, high.max(SMALLEST).log10().ceil().max(low + 1.0))
        } else {
            (0.0, (high * 1.05).max(1e-9))
        };
        (first < last).then_some(Scale {
            first,
            last,
            low,
            high,
            logarithmic,
        })
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + (second - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.y_on_axis(if self.logarithmic {
            value.max(SMALLEST).log10()
        } else {
            value
        })
    }

    fn y_on_axis(&self, position: f64) -> f64 {
        TOP + (self.high - position) / (self.high - self.low) * (HEIGHT - BOTTOM - TOP)
    }

    /// Places of the value axis with their labels.
    fn labels(&self) -> Vec<(f64, String)> {
        let steps = if self.logarithmic {
            (self.high - self.low).round() as usize
        } else {
            VALUE_LABELS
        };
        let label = |step: usize| {
            let position = self.low + (self.high - self.low) * step as f64 / steps as f64;
            let value = if self.logarithmic {
                10f64.powf(position)
            } else {
                position
            };
            (
                position,
                if value >= 1000.0 {
                    grouped(value)
                } else {
                    shorten(value)
                },
            )
        };
        (0..=steps).map(label).collect()
    }
}

fn draw_axes(svg: &mut String, scale: &Scale) -> std::fmt::Result {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for (position, label) in scale.labels() {
        let y = scale.y_on_axis(position);
        write!(
            svg,
            "<line x1='{LEFT}' x2='{right}' y1='{y:.1}' y2='{y:.1}' stroke='#8884'/>"
        )?;
        write!(
            svg,
            "<text x='{}' y='{:.1}' text-anchor=end>{label}</text>",
            LEFT - 6.0,
            y + 4.0
        )?;
    }
    for step in 0..=TIME_LABELS {
        let second = scale.first + (scale.last - scale.first) * step as f64 / TIME_LABELS as f64;
        let (x, y) = (scale.x(second), bottom + 18.0);
        write!(
            svg,
            "<text x='{x:.1}' y='{y}' text-anchor=middle>{second:.0} s</text>"
        )?;
    }
    if scale.first < 0.0 {
        let x = scale.x(0.0);
        let style = "stroke='#8888' stroke-dasharray='4 4'";
        write!(
            svg,
            "<line x1='{x:.1}' x2='{x:.1}' y1='{TOP}' y2='{bottom}' {style}/>"
        )?;
    }
    Ok(())
}

fn draw_lines(svg: &mut String, scale: &Scale, lines: &[Line<'_>]) -> std::fmt::Result {
    for (index, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let place = |&(second, value): &(f64, f64)| format!("{:.1},{:.1}", scale.x(second), scale.y(value));
        let path = points.iter().map(place).collect::<Vec<_>>().join(" ");
        write!(
            svg,
            "<polyline fill=none stroke='{colour}' stroke-width='1.5' points='{path}'/>"
        )?;
        let (x, y) = (LEFT + 150.0 * index as f64, HEIGHT + 6.0);
        write!(
            svg,
            "<rect x='{x}' y='{y}' width='12' height='3' fill='{colour}'/>"
        )?;
        write!(
            svg,
            "<text x='{}' y='{}'>{}</text>",
            x + 18.0,
            y + 5.0,
            escape(name)
        )?;
    }
    Ok(())
}

/// At most three decimals, without zeros at the end.
fn shorten(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_stay_inside_their_frame() {
        let points = (0..60)
            .map(|i| (i as f64 - 10.0, 10f64.powi(i % 5 - 2)))
            .collect::<Vec<_>>();
        for logarithmic in [false, true] {
            let svg = chart(&[("a<b", points.clone())], logarithmic);
            assert!(svg.contains("a&lt;b"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            let polyline = svg
                .split("points='")
                .nth(1)
                .and_then(|rest| rest.split('\'').next())
                .expect("a line");
            for pair in polyline.split(' ') {
                let (x, y) = pair.split_once(',').expect("a pair");
                let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
                assert!(
                    (LEFT..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y),
                    "{pair}"
                );
            }
        }
        assert!(chart(&[("x", vec![(1.0, 1.0)])], false).contains("too short"));
    }
}
