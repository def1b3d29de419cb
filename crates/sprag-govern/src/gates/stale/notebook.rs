//! Edits of notebooks: a cell is replaced, inserted or deleted. Clients write the notebook in another layout
//! and without the outputs of the cell, so notebooks are compared by their cells.

use serde_json::{Map, Value, json};

/// Returns the notebook after the edit, in any layout.
pub(crate) fn edited(input: &Value, before: &[u8]) -> Option<Vec<u8>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let mut notebook: Value = serde_json::from_slice(before).ok()?;
    let cells = notebook.get_mut("cells")?.as_array_mut()?;
    let at = text("cell_id").and_then(|id| position(cells, id));
    let source = text("new_source").unwrap_or_default();
    match text("edit_mode").unwrap_or("replace") {
        "replace" => {
            let cell = cells.get_mut(at?)?.as_object_mut()?;
            cell.insert("source".to_owned(), json!(source));
            if let Some(kind) = text("cell_type") {
                cell.insert("cell_type".to_owned(), json!(kind));
            }
        }
        "insert" => {
            let cell = json!({"cell_type": text("cell_type").unwrap_or("code"), "source": source});
            cells.insert(at.map_or(0, |at| at + 1).min(cells.len()), cell);
        }
        "delete" => {
            cells.remove(at?);
        }
        _ => return None,
    }
    serde_json::to_vec(&notebook).ok()
}

/// Returns the position of a cell by its id, or by its number as clients count.
fn position(cells: &[Value], id: &str) -> Option<usize> {
    let known = cells.iter().position(|cell| cell.get("id").and_then(Value::as_str) == Some(id));
    let counted =
        || id.strip_prefix("cell-").unwrap_or(id).parse().ok().filter(|&at: &usize| at < cells.len());
    known.or_else(counted)
}

/// Reports whether two notebooks are equal: cell by cell, without outputs.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    cells(one).is_some_and(|cells_of_one| cells(other) == Some(cells_of_one))
}

fn cells(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let notebook: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let cells = notebook.get("cells")?.as_array()?.iter().map(|cell| {
        let source = match cell.get("source") {
            Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        (cell.get("cell_type").and_then(Value::as_str).unwrap_or_default().to_owned(), source)
    });
    Some(cells.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(cells: &[(&str, &str)]) -> Vec<u8> {
        let cells: Vec<Value> = cells
            .iter()
            .map(|(id, source)| json!({"id": id, "cell_type": "code", "source": [source], "outputs": [1]}))
            .collect();
        serde_json::to_vec_pretty(&json!({"cells": cells, "nbformat": 4})).unwrap()
    }

    #[test]
    fn a_cell_is_replaced_put_in_or_taken_out() {
        let before = book(&[("a", "1"), ("b", "2")]);
        let edit = |input: Value| edited(&input, &before).unwrap();
        let replaced = edit(json!({"cell_id": "b", "new_source": "3"}));
        assert!(is_same(&replaced, &book(&[("a", "1"), ("b", "3")])));
        let counted = edit(json!({"cell_id": "cell-0", "new_source": "3"}));
        assert!(is_same(&counted, &book(&[("a", "3"), ("b", "2")])));
        let put_in = edit(json!({"cell_id": "a", "new_source": "3", "edit_mode": "insert"}));
        assert!(is_same(&put_in, &book(&[("a", "1"), ("x", "3"), ("b", "2")])));
        let taken_out = edit(json!({"cell_id": "a", "edit_mode": "delete"}));
        assert!(is_same(&taken_out, &book(&[("b", "2")])));
        assert!(!is_same(&taken_out, &before));
    }

    #[test]
    fn what_is_no_notebook_is_not_planned() {
        for before in ["", "{}", "[]", r#"{"cells": 3}"#, r#"{"cells": [3]}"#] {
            let input = json!({"cell_id": "a", "new_source": "3"});
            assert_eq!(edited(&input, before.as_bytes()), None, "{before}");
        }
    }
}
