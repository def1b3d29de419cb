//! Records of debts.

use serde::{Deserialize, Serialize};

use sprag_base::records;
use sprag_base::text::{Text, one_line, quoted_list};

use crate::obligation::Debt;

records! {
    /// Records of debts.
    pub enum DebtRecord {
        Opened(Debt) = "debt.opened",
        /// Sprag showed them to a session.
        Shown(DebtIds) = "debt.shown",
        Met(DebtIds) = "debt.met",
        /// A person dropped them and gave a reason.
        Cleared(ClearedDebts) = "debt.cleared",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebtIds {
    pub ids: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedDebts {
    pub ids: Vec<String>,
    #[serde(default)]
    pub reason: Text<1000>,
}

impl DebtRecord {
    /// Returns a sentence for `sprag session explain`.
    pub fn describe(&self) -> String {
        match self {
            DebtRecord::Opened(debt) => {
                format!("debt `{}` was opened: {}", debt.id, one_line(debt.why.as_str()))
            }
            DebtRecord::Shown(debts) => format!("debts {} were shown", quoted_list(&debts.ids)),
            DebtRecord::Met(debts) => format!("debts {} were met", quoted_list(&debts.ids)),
            DebtRecord::Cleared(debts) => {
                let reason = one_line(debts.reason.as_str());
                format!("debts {} were cleared: {reason}", quoted_list(&debts.ids))
            }
        }
    }
}
