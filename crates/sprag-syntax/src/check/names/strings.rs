//! Names with a fixed meaning. A language, a runtime, a framework or a tool calls them, so a rename must
//! neither introduce nor remove them.

use crate::lang::Lang;

/// Reports whether outside code uses a name, regardless of its owner.
pub(crate) fn is_spoken(name: &str) -> bool {
    // `pytest_configure`, `on_message`, `do_GET`, `visit_Name`: hooks with a fixed prefix.
    const HOOKS: &[&str] = &["test_", "pytest_", "on_", "do_", "visit_", "handle_", "process_", "depart_"];
    const CAMEL_HOOKS: &[&str] =
        &["Test", "Benchmark", "Example", "Fuzz", "test", "setUp", "tearDown", "ng", "on", "do", "visit"];
    is_one_of(ANYWHERE, name)
        || (name.starts_with("__") && name.ends_with("__"))
        || HOOKS.iter().any(|prefix| name.starts_with(prefix))
        || CAMEL_HOOKS.iter().any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| !c.is_lowercase()))
        })
}

/// Reports whether code that receives an object calls its method of that name.
pub(crate) fn is_protocol(name: &str) -> bool {
    is_one_of(METHODS, name)
}

/// Reports whether a language predeclares a name.
pub(crate) fn is_predeclared(lang: Lang, name: &str) -> bool {
    match lang {
        Lang::Go => is_one_of(GO, name),
        Lang::Python => is_one_of(PYTHON, name),
        Lang::Rust => is_one_of(RUST, name),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => is_one_of(SCRIPT, name),
        // Java methods hide nothing, and the checker never renames Java types.
        Lang::Java => false,
    }
}

fn is_one_of(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

const GO: &str = "
    append cap clear close complex copy delete imag len make max min new panic print println real recover
    any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
    uint uint8 uint16 uint32 uint64 uintptr true false iota nil
";

const PYTHON: &str = "
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr
    dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int
    isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property range
    repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip copyright credits exit
    quit license
";

const RUST: &str = "
    Some None Ok Err Option Result Vec String Box Iterator IntoIterator Extend Fn FnMut FnOnce Send Sync Sized Copy Clone
    Drop Default Eq PartialEq Ord PartialOrd AsRef AsMut From Into ToOwned ToString TryFrom TryInto drop
";

const SCRIPT: &str = "
    undefined NaN Infinity eval isNaN isFinite parseInt parseFloat encodeURIComponent decodeURIComponent encodeURI
    decodeURI escape unescape Object Function Boolean Symbol Error Number BigInt Math Date String RegExp Array Map Set
    WeakMap WeakSet Promise Proxy Reflect JSON Intl globalThis window self document location history navigator console
    process global Buffer setTimeout setInterval clearTimeout clearInterval setImmediate queueMicrotask fetch alert open
    close print stop focus blur scroll status event top parent frames structuredClone performance crypto
    require module exports __dirname __filename
";

const ANYWHERE: &str = "
    main init new default constructor toString toJSON valueOf equals hashCode compareTo clone finalize close run call
    get set apply accept test then next return throw render handler exports module require arguments iterator length
    name prototype setup teardown teardown_module setup_module setup_function teardown_function
    String Error Read Write Close Len Less Swap ServeHTTP MarshalJSON UnmarshalJSON Unwrap Is As Format GoString
    drop fmt from into eq cmp hash index deref iter
    readObject writeObject readResolve writeReplace readObjectNoData serialVersionUID serialPersistentFields
    premain agentmain
    upgrade downgrade lambda_handler load_tests urlpatterns application app
    activate deactivate bootstrap mount unmount onmessage onerror onload
    GET POST PUT PATCH DELETE HEAD OPTIONS getServerSideProps getStaticProps getStaticPaths generateMetadata
    generateStaticParams loader action middleware config metadata
";

const METHODS: &str = "
    read readline readlines readable write writelines writable flush seek tell fileno isatty truncate
    keys items values pop update append extend add remove discard insert count copy clear sort reverse send emit
    start stop join wait notify notifyAll interrupt isAlive getName setName getId acquire release begin commit rollback
    compare process handle filter format dispatch execute invoke perform update paint draw reset dispose destroy
    getClass getMessage getCause size isEmpty contains iterator hasNext
    handleEvent connectedCallback disconnectedCallback adoptedCallback attributeChangedCallback toLocaleString
    componentDidMount componentWillUnmount componentDidUpdate shouldComponentUpdate
    to_string to_owned to_vec borrow borrow_mut as_ref as_mut as_str as_bytes try_from try_into into_iter from_iter
    from_str partial_cmp max min clamp ne lt le gt ge not neg add sub mul div rem index_mut deref_mut type_id poll
    size_hint nth last map fold zip chain by_ref write_str write_all read_to_end source description cause
    visit serialize deserialize encode decode
";
