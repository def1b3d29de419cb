//! When the client is about to ask its user, rules and a judge may answer instead. If the judge fails, the
//! client asks its user; a headless client then refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "permission",
    shows: "rules and a judge allow or deny a permission; if the judge hangs or fails, the user decides",
    hooks: Hooks::Asking,
    play,
};

const JUDGE: &str = r#"#!/bin/sh
case "$(cat)" in
*fine.txt*) echo '{"decision": "allow", "confidence": 0.95, "reason": "harmless"}' ;;
*odd.txt*) echo '{"decision": "deny", "confidence": 0.95, "reason": "the judge finds it odd"}' ;;
*lie.txt*) echo 'Of course you may!' ;;
*hang.txt*) sleep 60 ;;
*) echo '{"decision": "allow", "confidence": 0.1, "reason": "no idea"}' ;;
esac
"#;

const RULE: &str = r#"
[[rule]]
id = "made"
any = ["Bash:touch made.txt", "Write:made.txt"]
decision = "allow"
reason = "this file may be made"
"#;

fn configure(rig: &Rig) -> anyhow::Result<()> {
    let judge = rig.place.home().join("judge.sh");
    fs::write(&judge, JUDGE)?;
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755))?;
    let config = rig.place.home().join(".config/sprag");
    fs::create_dir_all(&config)?;
    let text = format!("[policy]\ntriage = \"judge\"\njudge = [\"{}\"]\n{RULE}", judge.display());
    fs::write(config.join("config.toml"), text)?;
    Ok(())
}

fn play(rig: &mut Rig) -> Checked {
    configure(rig)?;
    let names = ["made.txt", "fine.txt", "odd.txt", "lie.txt", "unsure.txt", "hang.txt"];
    let mut script = Script::ending("That is all.");
    for name in names {
        script = script.then(Turn::call((rig.client.shell)(&format!("touch {name}"))));
    }
    let run = rig.run(script, Grant::Nothing)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() == names.len() + 1, "the run continues after each answer", || outline(&main))?;
    for (name, is_made) in names.into_iter().zip([true, true, false, false, false, false]) {
        expect(rig.file(name).is_some() == is_made, &format!("`{name}` is made: {is_made}"), || {
            outline(&main)
        })?;
    }
    let odd = &main[3].last_result;
    expect(odd.contains("the judge finds it odd"), "the judge's reason reaches the model", || short(odd))?;
    for (name, request) in [("lie", main[4]), ("unsure", main[5]), ("hang", main[6])] {
        let result = &request.last_result;
        expect(!result.contains("sprag:"), &format!("`{name}`: the client itself refused"), || {
            short(result)
        })?;
    }
    Ok(())
}
