//! All requests to the model, in order. Cases assert on these requests and not on the output of a hook,
//! because only they prove that the client passed the text to the model.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::script::Part;

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub part: Part,
    /// The result of the latest tool call, as the model reads it.
    pub last_result: String,
    pub body: Value,
}

impl Request {
    /// Reports whether a decoded string of the body contains `needle`. Quotes and line breaks match
    /// unescaped.
    pub fn contains(&self, needle: &str) -> bool {
        self.count(needle) > 0
    }

    /// Returns the number of strings in the body that contain `needle`.
    pub fn count(&self, needle: &str) -> usize {
        let mut count = 0;
        visit(&self.body, &mut |text| count += usize::from(text.contains(needle)));
        count
    }

    /// Returns the last message, including tool results.
    pub fn last_talk(&self) -> String {
        let talk = [&self.body["messages"], &self.body["input"]];
        let items = talk.into_iter().find_map(Value::as_array);
        items.and_then(|items| items.last()).map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the first string that contains `needle`, from that position on.
    pub fn text_from(&self, needle: &str) -> Option<String> {
        let mut found = None;
        visit(&self.body, &mut |text| {
            if found.is_none() {
                found = text.find(needle).map(|at| text[at..].to_owned());
            }
        });
        found
    }
}

fn visit(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        Value::Object(fields) => {
            for (name, field) in fields {
                see(name);
                visit(field, see);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The requests of the current run, and a file with all requests for inspection.
#[derive(Default)]
pub struct Seen {
    requests: Vec<Request>,
    file: Option<File>,
}

impl Seen {
    pub fn also_to(path: &Path) -> std::io::Result<Seen> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Seen { requests: Vec::new(), file: Some(file) })
    }

    pub fn push(&mut self, request: Request) {
        if let Some(file) = &mut self.file {
            let line = json!({
                "method": request.method,
                "path": request.path,
                "part": format!("{:?}", request.part),
                "body": request.body,
            });
            // After a full disk the client must not get an error, because it would retry.
            if let Err(error) = writeln!(file, "{line}") {
                eprintln!("xtask: cannot log a model request: {error}");
            }
        }
        self.requests.push(request);
    }

    pub fn take(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }
}
