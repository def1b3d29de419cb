//! Tests of the texts that redaction removes and keeps.

use proptest::prelude::*;

use super::{clean, text, value};

#[test]
fn secrets_of_every_kind_are_taken_out() {
    for (given, kept) in [
        ("key AKIAABCDEFGHIJKLMNOP end", "key [redacted:aws_key] end"),
        ("ghp_0123456789abcdefghij0123456789abcdef", "[redacted:github_token]"),
        (
            "curl -H 'Authorization: Bearer abcdef0123456789'",
            "curl -H 'Authorization: Bearer [redacted:bearer]'",
        ),
        ("git clone https://me:hunter2secret@host/x", "git clone https://me:[redacted:password]@host/x"),
        ("export DB_PASSWORD=correcthorsebattery && run", "export DB_PASSWORD=[redacted:secret] && run"),
        (r#"{\"api_key\": \"0123456789abcdef\"}"#, r#"{\"api_key\": \"[redacted:secret]\"}"#),
        ("a <private>my notes</private> b", "a [redacted:private] b"),
        ("mysql --password correcthorsebattery x", "mysql --password [redacted:secret] x"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted:secret] psql"),
        ("-H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='", "-H 'Authorization: Basic [redacted:bearer]'"),
        (r"echo 'a\nghp_0123456789abcdefghij0123456789abcdef'", r"echo 'a\n[redacted:github_token]'"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
            "[redacted:private_key]\nrest",
        ),
        ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl y", "x [redacted:jwt] y"),
    ] {
        assert_eq!(text(given).into_inner(), kept);
    }
}

/// Many notations of the same secret; redaction removes it from each.
#[test]
fn a_secret_is_known_by_its_name_or_its_look() {
    let secret = "q7rk2m9xw4tz8vb3nd6f";
    for way in [
        "xoxc-@",
        "xoxd-@",
        "xoxe-1-@",
        "xapp-1-@",
        "gldt-@",
        "glpat-@",
        "ghp_@q7rk2m9xw4tz8vb3",
        "sk-ant-api03-@",
        "SECRET_KEY=@",
        "\"secretKey\": \"@\"",
        "accessKey: '@'",
        "\"privateKey\":\"@\"",
        "STRIPE_SECRET_KEY=@",
        "AccountName=x;AccountKey=@==;",
        "password := \"@\"",
        "'password' => '@'",
        "password: @",
        "\u{1b}[32mghp_@q7rk2m9x\u{1b}[0m",
        "https://h/?u=%20ghp_@q7rk2m9x",
        r"{\u0022t\u0022:\u0022ghp_@q7rk2m9x\u0022}",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n@\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----begin rsa private key-----\n@\n-----end rsa private key-----",
        "postgres://u:ab/@@host/db",
        "redis://:@@host:6379",
        "HTTPS://u:@@host/db",
        "PASSWORD=\"ab,@\"",
        "passphrase = \"a b @\"",
        "PASSWORD='$@'",
        "PASSWORD=\\\n@",
        "Authorization: Bearer\t@",
        "Authorization: Bearer  @",
        "Authorization: Bearer\n@",
        "Authorization=Bearer%20@",
        "curl -u admin:@ https://h",
        "curl --user admin:@",
        "mysql -p@ db",
        "X-Api-Key: @",
        "aws_secret_access_key = @",
        "machine h login u password @",
        "//npm.example.org/:_authToken=@",
        ":_auth=@",
        "<password>@</password>",
        "Server=h;User Id=u;Pwd=@;",
        "PASS=@",
        "the password is @",
        "--token @",
        "--password=@",
        "credentials: @",
        "x eyAiYWxnIjoiSFMyNTYifQ.eyJzdWIiOiIxIn0.@",
        "Cookie: session_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.@",
        "<PRIVATE>@</PRIVATE>",
    ] {
        let told = way.replace('@', secret).replacen(&format!("{secret}{secret}"), &format!("{secret}@"), 1);
        let kept = text(&told).into_inner().into_owned();
        assert!(!kept.contains(&secret[..12]), "{told}\n{kept}");
    }
}

#[test]
fn what_only_looks_secret_stays() {
    for kept in [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f",
        "\"integrity\": \"sha512-abcdefghijklmnopqrstuvwxyz0123456789==\"",
        "let token = self.next_token();",
        "password: $DB_PASSWORD_FROM_ENV",
        "API_KEY=<your-api-key-goes-here>",
        "the sk- prefix, the token and the secret",
        "http://localhost:8080/path@2x.png",
        "eyJub3QiOiJhIn0 is no token",
        "basic functionality works, Basic authentication is required",
        "Bearer authentication_scheme",
        "token: CancellationToken",
        "let token = self.current_token;",
        "const token = request.headers.authorization;",
        "password: process.env.DB_PASSWORD",
        "imagePullSecret: my-registry-credentials",
        "hf_hub_download_with_retries fails",
        "class sk-estimator-doc-link-fitted",
        "pypi-attestations-verification and pypi-package-with-long-name-1",
        "npm_package_config_some_very_long_variable_name_here",
        "the secret: documentation/readme-first.md",
        "page_token=next_page_token_value",
        "PWD=/home/someone/project1",
        "a passphrase is made of words; the token is refreshed",
    ] {
        assert_eq!(text(kept).into_inner(), kept);
    }
}

/// Lock files and logs are full of hashes, ids, base64 and words about tokens. None of them is a secret.
#[test]
fn nothing_is_taken_out_of_lock_files_and_logs() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 16
    };
    let mut word = |alphabet: &str, length: usize| -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[(random() % letters.len() as u64) as usize]).collect()
    };
    const HEX: &str = "0123456789abcdef";
    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for at in 0..5000 {
        let (hex, base64) = (word(HEX, 64), word(BASE64, 88));
        let uuid =
            format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30]);
        let line = match at % 12 {
            0 => format!("      \"integrity\": \"sha512-{base64}==\","),
            1 => format!("checksum = \"{hex}\""),
            2 => format!("    resolved \"https://registry.example/x/-/x-{at}.0.1.tgz#{}\"", &hex[..40]),
            3 => format!("2026-11-15T09:01:{:02}Z INFO request id={uuid} status=200 bytes={at}", at % 60),
            4 => format!("github.com/a/b v0.{at}.0 h1:{}=", &base64[..43]),
            5 => format!("  --hash=sha256:{hex} \\"),
            6 => format!("commit {} (HEAD -> main, tag: v1.{at})", &hex[..40]),
            7 => format!("[worker-{at}] token bucket refilled: {} tokens, key={}", at, at % 97),
            8 => format!("DEBUG session {uuid}: password check passed in {at} ms"),
            9 => format!("digest: sha256:{hex} size: {at}"),
            10 => format!("W/\"{}\" etag for /static/app.{}.js", &hex[..16], &hex[..8]),
            _ => format!("- name: cache key {} restored from secret-scanning step {at}", &hex[..32]),
        };
        assert_eq!(text(&line).into_inner(), line);
    }
}

#[test]
fn strings_inside_a_value_are_reached() {
    let given = serde_json::json!({"a": [{"b": "ghp_0123456789abcdefghij0123456789abcdef"}], "n": 3});
    assert_eq!(
        value(given).into_inner(),
        serde_json::json!({"a": [{"b": "[redacted:github_token]"}], "n": 3})
    );
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "\\PC*", odd in "(password|token|is| |=|:|://|@|é|-p|--user|mysql|<|>|\"|'|\\\\|\n|ey|\\.|sk-|Basic |%20|login ){0,30}") {
        clean(&text);
        clean(&odd);
    }

    #[test]
    fn redacting_twice_changes_nothing(text in "(password=|Bearer |://a:b@|ghp_|[a-z0-9 =:]){0,12}") {
        let once = clean(&text).into_owned();
        prop_assert_eq!(clean(&once).into_owned(), once);
    }
}

/// The text consists of starts of secrets without an end. Redaction must not read the whole rest for each of
/// them.
#[test]
fn a_hostile_text_takes_no_longer_than_its_length() {
    for start in [
        "sk-",
        "ey-",
        "token=",
        "://",
        "redis://",
        "password ",
        " -p",
        "a:",
        "-u a:",
        "<token>",
        "is ",
        "-----BEGIN ",
    ] {
        let hostile = start.repeat(20_000 / start.len());
        clean(&hostile);
    }
}
