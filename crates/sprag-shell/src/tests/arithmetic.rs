//! Tests of text that becomes code without looking like code.

use super::*;

/// Each of these texts runs `x y`.
#[test]
fn a_value_that_is_evaluated_runs() {
    for text in [
        "[[ -v 'a[$(x y)]' ]]",
        "test -v 'a[$(x y)]'",
        "[ -v 'a[$(x y)]' ]",
        "printf -v 'a[$(x y)]' 1",
        "read 'a[$(x y)]' <<< 1",
        "unset 'a[$(x y)]'",
        "let 'a[$(x y)]=1'",
        "declare 'a[$(x y)]=1'",
        "declare -i 'v=a[$(x y)]'",
        "declare -n 'v=a[$(x y)]'",
        "v='a[$(x y)]'; declare -i n; n=v",
        "v='a[$(x y)]'; ((v))",
        "v='a[`x y`]'; w=v; echo $((w + 1))",
        "v='a[$(x y)]'; [[ $v -eq 0 ]]",
        "v='a[$(x y)]'; echo ${q[v]}",
        "v='a[$(x y)]'; echo ${PATH:0:v}",
        "v='a[$(x y)]'; for ((i=v; i<1; i++)); do :; done",
        "v='a[$(x y)]'; echo ${!v}",
        "v='$(x y)'; echo ${v@P}",
        "PS4='$(x y)'; set -x; ls",
        "PS4='$(x y)' bash -xc ls",
    ] {
        assert!(lines(text).contains(&"x y".to_owned()), "{text}: {:?}", lines(text));
        assert!(kinds(text).contains(&DoubtKind::Dynamic), "{text}");
    }
    for text in [
        "compgen -C 'x y' a",
        "compgen -W '$(x y)' a",
        "command_not_found_handle() { x y; }; nosuch",
        "hash -p /usr/bin/x ls; ls y",
        "BASH_CMDS[ls]=x; ls y",
        "BASH_ALIASES[ls]='x y'; ls",
        "declare -A BASH_ALIASES=([ls]='x y'); ls",
        "env 'BASH_FUNC_ls%%=() { x y; }' bash -c ls",
    ] {
        let found = lines(text);
        assert!(found.iter().any(|line| line == "x y" || line == "/usr/bin/x y"), "{text}: {found:?}");
    }
}

#[test]
fn plain_arithmetic_is_no_doubt() {
    for text in [
        "for ((i=0;i<10;i++)); do echo $i; done",
        "((count++))",
        "[[ $# -eq 0 ]]",
        "a=1; b=2; echo $((a+b))",
        "n=$(wc -l < f); [[ $n -gt 5 ]]",
        "a=(1 2); i=1; echo ${a[i]} ${a[0]} ${x:0:3}",
        "declare -A m; m[k]=1; echo ${m[k]}",
        "declare -i n=3; let n+=1; printf -v s '%s' $n; unset s; read -r l < f",
        "PS1='$ '",
        "count=0; while [[ $count -lt 5 ]]; do ((count++)); done",
        "for f in *; do i=$((i+1)); done; echo $((i))",
        "until [[ $n -ge 3 ]]; do n=$((n+1)); done",
        "[[ $? -ne 0 ]]; [[ ${#x} -gt 1 ]]; echo $(( $(date +%s) - 5 ))",
        "[[ $UNSET -eq 1 ]]",
    ] {
        assert_eq!(kinds(text), [], "{text}");
    }
}

/// A value from elsewhere is usually a number, but it was not checked.
#[test]
fn what_is_evaluated_unseen_is_told() {
    for text in [
        "x=$(cat f); ((x))",
        "read x < f; echo $((x + 1))",
        "[[ $(cat f) -eq 0 ]]",
        "echo $(( $(cat f) ))",
        "x=`cat f`; [[ $x -gt 1 ]]",
        "x=$(cat f); y=x; echo ${a[y]}",
    ] {
        assert_eq!(kinds(text), [DoubtKind::Opaque], "{text}");
    }
}

#[test]
fn what_is_read_is_split_as_told() {
    check(&[
        ("IFS=: read a b <<< git:reset; $a $b c", "read a b | git reset c"),
        ("IFS=, read -ra a <<< 'git,reset,c'; \"${a[@]}\"", "read -ra a | git reset c"),
        ("IFS=: read -r a b c <<< 'x : y::z'; echo $a.$b.$c", "read -r a b c | echo x . y.:z"),
        ("read a b <<< ' x  y z '; echo $a-$b", "read a b | echo x-y z"),
        ("IFS= read -r a <<< ' x'; echo \"$a\"", "read -r a | echo ' x'"),
        ("IFS=$x read a b <<< git:reset; echo $a", "read a b | echo ?*"),
    ]);
}
