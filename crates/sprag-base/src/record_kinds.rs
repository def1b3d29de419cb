//! One enum of records for each domain. Kind, body and reader of a record follow from one line of a list.

use serde_json::Value;

use crate::record::Record;
use crate::time::Timestamp;

/// The records of one domain, made by [`records!`](crate::records).
pub trait TypedRecord: Sized {
    /// Kinds of this domain, in the order of the list.
    const KINDS: &'static [&'static str];

    fn kind(&self) -> &'static str;

    fn body(&self) -> Value;

    /// Returns `None` for a record of another domain, and for a body that this version cannot read. Such a
    /// record stays in its file.
    fn read(record: &Record) -> Option<Self>;

    /// Returns the record without an id and an author: the writer gives it both.
    fn record(&self, at: Timestamp) -> Record {
        Record::new(self.kind(), at, self.body())
    }
}

#[macro_export]
macro_rules! records {
    ($(#[$doc:meta])* $vis:vis enum $name:ident {
        $($(#[$about:meta])* $variant:ident($body:ty) = $kind:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name { $($(#[$about])* $variant($body)),+ }

        impl $crate::record_kinds::TypedRecord for $name {
            const KINDS: &'static [&'static str] = &[$($kind),+];

            fn kind(&self) -> &'static str {
                match self { $($name::$variant(_) => $kind),+ }
            }

            fn body(&self) -> serde_json::Value {
                let body = match self { $($name::$variant(body) => serde_json::to_value(body)),+ };
                body.expect("a body is plain data with text keys")
            }

            fn read(record: &$crate::record::Record) -> Option<$name> {
                match record.kind.as_str() {
                    $($kind => serde::Deserialize::deserialize(&record.body).ok().map($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Colour {
        #[serde(alias = "hue")]
        name: String,
    }

    records! {
        enum PaintRecord {
            Mixed(Colour) = "paint.mixed",
            Dried(Colour) = "paint.dried",
        }
    }

    fn record(kind: &str, body: Value) -> Record {
        Record::new(kind, Timestamp::from_millis(0), body)
    }

    #[test]
    fn a_record_is_known_by_its_kind_and_keeps_its_body() {
        let blue = PaintRecord::Dried(Colour { name: "blue".to_owned() });
        let written = record("paint.dried", json!({"name": "blue"}));
        assert_eq!(blue.record(Timestamp::from_millis(0)), written);
        assert_eq!(PaintRecord::read(&written), Some(blue.clone()));
        assert_eq!(PaintRecord::read(&record("paint.dried", json!({"hue": "blue"}))), Some(blue));
        assert_eq!(PaintRecord::KINDS, ["paint.mixed", "paint.dried"]);
    }

    #[test]
    fn an_unknown_kind_or_body_is_skipped() {
        assert_eq!(PaintRecord::read(&record("paint.sold", json!({"name": "blue"}))), None);
        assert_eq!(PaintRecord::read(&record("paint.mixed", json!({"name": 3}))), None);
        assert_eq!(PaintRecord::read(&record("paint.mixed", Value::Null)), None);
    }
}
