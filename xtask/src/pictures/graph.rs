//! The stages of a run as boxes with edges. Levels are columns. An edge over several levels gets a free place
//! in each column between, so that it crosses no box.

use serde::Deserialize;

use super::svg::{self, BAR, COLOURS, Caption, LINE, QUIET, TEXT, escaped, number};

const BOX: (f64, f64) = (158.0, 58.0);
const GAP: (f64, f64) = (54.0, 26.0);
const EDGE: f64 = 24.0;
/// Height of the line below the graph.
const FOOT: f64 = 34.0;
/// Passes that move stages closer to their neighbours.
const PASSES: usize = 4;

/// The part of `sprag run graph --json` that is drawn.
#[derive(Deserialize)]
pub struct Graph {
    critical_path: Vec<String>,
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    stage_id: String,
    level: usize,
    state: String,
    dependencies: Vec<String>,
}

/// A place in a column.
struct Place {
    level: usize,
    holds: Content,
    /// Position from the top in units of a box; the middle of the picture is 0.
    row: f64,
}

enum Content {
    /// The stage with this number.
    Stage(usize),
    /// An edge that passes through.
    Passage(EdgeKind),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EdgeKind {
    Usual,
    /// On the longest way through the plan.
    Critical,
}

/// A part of an edge from one column to the next.
struct Link {
    from: usize,
    to: usize,
    kind: EdgeKind,
}

struct Layout {
    places: Vec<Place>,
    links: Vec<Link>,
}

/// Draws a graph; `duration` returns the text for the time that a stage has taken.
pub fn draw(graph: &Graph, caption: &Caption<'_>, duration: impl Fn(&str) -> Option<String>) -> String {
    let layout = layout(graph);
    let levels = layout.places.iter().map(|place| place.level + 1).max().unwrap_or(0);
    let width = 2.0 * EDGE + levels as f64 * (BOX.0 + GAP.0) - GAP.0;
    // A free place needs the height of its line only.
    let half = |place: &Place| match place.holds {
        Content::Stage(_) => BOX.1 / 2.0,
        Content::Passage(_) => 0.0,
    };
    let middle = |place: &Place| place.row * (BOX.1 + GAP.1);
    let top = layout.places.iter().map(|place| middle(place) - half(place)).fold(0.0, f64::min);
    let bottom = layout.places.iter().map(|place| middle(place) + half(place)).fold(0.0, f64::max);
    let height = BAR + EDGE + bottom - top + EDGE + FOOT;
    let corner = |place: &Place| {
        let x = EDGE + place.level as f64 * (BOX.0 + GAP.0);
        (x, BAR + EDGE + middle(place) - top - BOX.1 / 2.0)
    };
    let mut picture = svg::window(width, height, caption);
    // Critical edges come last: they are drawn over the others.
    for kind in [EdgeKind::Usual, EdgeKind::Critical] {
        for link in layout.links.iter().filter(|link| link.kind == kind) {
            edge(&mut picture, corner(&layout.places[link.from]), corner(&layout.places[link.to]), kind);
        }
    }
    for place in &layout.places {
        match place.holds {
            Content::Stage(at) => {
                let stage = &graph.stages[at];
                stage_box(&mut picture, corner(place), stage, duration(&stage.stage_id));
            }
            Content::Passage(kind) => passage(&mut picture, corner(place), kind),
        }
    }
    legend(&mut picture, width, height);
    picture.push_str("</svg>\n");
    picture
}

fn layout(graph: &Graph) -> Layout {
    let mut places: Vec<Place> = graph
        .stages
        .iter()
        .enumerate()
        .map(|(at, stage)| Place { level: stage.level, holds: Content::Stage(at), row: 0.0 })
        .collect();
    let mut links = Vec::new();
    for (to, stage) in graph.stages.iter().enumerate() {
        for dependency in &stage.dependencies {
            let Some(from) = graph.stages.iter().position(|it| it.stage_id == *dependency) else { continue };
            let is_critical = graph
                .critical_path
                .windows(2)
                .any(|pair| pair[0] == *dependency && pair[1] == stage.stage_id);
            let kind = if is_critical { EdgeKind::Critical } else { EdgeKind::Usual };
            let mut before = from;
            for level in graph.stages[from].level + 1..stage.level {
                places.push(Place { level, holds: Content::Passage(kind), row: 0.0 });
                links.push(Link { from: before, to: places.len() - 1, kind });
                before = places.len() - 1;
            }
            links.push(Link { from: before, to, kind });
        }
    }
    let mut layout = Layout { places, links };
    let levels = layout.places.iter().map(|place| place.level + 1).max().unwrap_or(0);
    for pass in 0..=PASSES {
        for at in 0..levels {
            // Passes go there and back: a stage follows what it needs, then what needs it.
            let level = if pass % 2 == 0 { at } else { levels - 1 - at };
            arrange(&mut layout, level);
        }
    }
    layout
}

/// Sorts the places of a level by the middle of their neighbours, and centres them.
fn arrange(layout: &mut Layout, level: usize) {
    let neighbours = |place: usize| {
        let rows: Vec<f64> = layout
            .links
            .iter()
            .filter_map(|link| match (link.from == place, link.to == place) {
                (true, _) => Some(layout.places[link.to].row),
                (_, true) => Some(layout.places[link.from].row),
                _ => None,
            })
            .collect();
        if rows.is_empty() { 0.0 } else { rows.iter().sum::<f64>() / rows.len() as f64 }
    };
    let mut of_level: Vec<(f64, usize)> = (0..layout.places.len())
        .filter(|place| layout.places[*place].level == level)
        .map(|place| (neighbours(place), place))
        .collect();
    of_level.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = (of_level.len().saturating_sub(1)) as f64 / 2.0;
    for (at, (_, place)) in of_level.into_iter().enumerate() {
        layout.places[place].row = at as f64 - middle;
    }
}

fn stage_box(picture: &mut String, (x, y): (f64, f64), stage: &Stage, duration: Option<String>) {
    let colour = colour(&stage.state);
    let id = escaped(&stage.stage_id);
    let state = escaped(&stage.state);
    svg::line(
        picture,
        format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#161b22\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            number(x),
            number(y),
            number(BOX.0),
            number(BOX.1)
        ),
    );
    let [left, right] = [number(x + 14.0), number(x + BOX.0 - 14.0)];
    let [first, second] = [number(y + 24.0), number(y + 44.0)];
    svg::line(
        picture,
        format_args!("<text x=\"{left}\" y=\"{first}\" fill=\"{TEXT}\" font-weight=\"bold\">{id}</text>"),
    );
    svg::line(
        picture,
        format_args!("<text x=\"{left}\" y=\"{second}\" fill=\"{colour}\" font-size=\"13\">{state}</text>"),
    );
    if let Some(duration) = duration {
        let duration = escaped(&duration);
        svg::line(
            picture,
            format_args!(
                "<text x=\"{right}\" y=\"{second}\" fill=\"{QUIET}\" font-size=\"13\" text-anchor=\"end\">{duration}</text>"
            ),
        );
    }
}

/// Draws an edge from the right side of one place to the left side of another.
fn edge(picture: &mut String, from: (f64, f64), to: (f64, f64), kind: EdgeKind) {
    let (x1, y1) = (from.0 + BOX.0, from.1 + BOX.1 / 2.0);
    let (x2, y2) = (to.0, to.1 + BOX.1 / 2.0);
    let middle = number((x1 + x2) / 2.0);
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    path(picture, &format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"), kind);
}

/// Draws the part of an edge that goes through a free place.
fn passage(picture: &mut String, (x, y): (f64, f64), kind: EdgeKind) {
    let y = number(y + BOX.1 / 2.0);
    path(picture, &format!("M{} {y}H{}", number(x), number(x + BOX.0)), kind);
}

fn path(picture: &mut String, path: &str, kind: EdgeKind) {
    let (colour, width) = match kind {
        EdgeKind::Critical => (TEXT, "2.5"),
        EdgeKind::Usual => ("#6e7681", "1.5"),
    };
    svg::line(
        picture,
        format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"),
    );
}

fn legend(picture: &mut String, width: f64, height: f64) {
    let [top, line, base] = [height - FOOT, height - FOOT / 2.0, height - FOOT / 2.0 + 4.0].map(number);
    let right = number(width - 1.0);
    svg::line(picture, format_args!("<path d=\"M1 {top}H{right}\" stroke=\"{LINE}\" fill=\"none\"/>"));
    let [from, to, text] = [EDGE, EDGE + 30.0, EDGE + 40.0].map(number);
    path(picture, &format!("M{from} {line}H{to}"), EdgeKind::Critical);
    svg::line(
        picture,
        format_args!(
            "<text x=\"{text}\" y=\"{base}\" fill=\"{QUIET}\" font-size=\"12\">critical path</text>"
        ),
    );
}

/// Returns the colour that the screens of a run give to a state.
fn colour(state: &str) -> &'static str {
    match state {
        "done" => COLOURS[2],
        "running" | "verifying" | "merging" => COLOURS[4],
        "asking" | "review" | "blocked" => COLOURS[1],
        "ready" => COLOURS[6],
        "waiting" | "skipped" => COLOURS[8],
        _ => COLOURS[3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(stages: &[(&str, usize, &[&str])], critical: &[&str]) -> Graph {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let stage = |(id, level, needs): &(&str, usize, &[&str])| Stage {
            stage_id: (*id).to_owned(),
            level: *level,
            state: "a<b".to_owned(),
            dependencies: texts(needs),
        };
        Graph { critical_path: texts(critical), stages: stages.iter().map(stage).collect() }
    }

    #[test]
    fn no_two_places_are_the_same() {
        let graph = graph(
            &[
                ("a", 0, &[]),
                ("b", 1, &["a"]),
                ("c", 1, &["a"]),
                ("d", 2, &["b"]),
                ("e", 3, &["d", "c", "a"]),
            ],
            &["a", "b", "d", "e"],
        );
        let layout = layout(&graph);
        let mut seen: Vec<(usize, String)> =
            layout.places.iter().map(|place| (place.level, number(place.row))).collect();
        seen.sort();
        seen.dedup();
        assert_eq!((layout.places.len(), seen.len()), (8, 8), "two edges need three free places");
        assert_eq!(layout.links.iter().filter(|link| link.kind == EdgeKind::Critical).count(), 3);
        for link in &layout.links {
            assert_eq!(layout.places[link.from].level + 1, layout.places[link.to].level);
        }
    }

    #[test]
    fn boxes_show_state_and_duration_as_text() {
        let caption = Caption { title: "t", description: "d" };
        let picture = draw(&graph(&[("a", 0, &[])], &["a"]), &caption, |_| Some("<1s".to_owned()));
        assert!(picture.contains(">a&lt;b</text>") && picture.contains(">&lt;1s</text>"), "{picture}");
    }
}
