//! Fixed names of the variants of an enum.

/// Writes a function that returns the name of each variant. With `const ALL` first, it also writes the list of
/// all variants in this order.
#[macro_export]
macro_rules! names {
    ($(#[$doc:meta])* $vis:vis fn $function:ident($type:ident): $($variant:ident = $name:literal),+) => {
        impl $type {
            $(#[$doc])*
            $vis fn $function(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }
        }
    };
    ($list:vis const ALL, $(#[$doc:meta])* $vis:vis fn $function:ident($type:ident): $($variant:ident = $name:literal),+) => {
        impl $type { $list const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+]; }

        $crate::names! { $(#[$doc])* $vis fn $function($type): $($variant = $name),+ }
    };
}
