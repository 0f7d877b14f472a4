//! The macro by which tables are declared.

/// Declares the rows of tables, and the lists of all of them.
macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $row:ident in $name:ident, key $key:literal $(, due $due:ident $(of $due_of:ident)?)? {
            $($(#[$of:meta])* $column:ident: $kind:ty),* $(,)?
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq)]
            pub(in crate::engine) struct $row {
                $($(#[$of])* pub(in crate::engine) $column: $kind),*
            }

            impl $crate::engine::store::table::Row for $row {
                const TABLE: usize = Place::$row as usize;
                const SCHEMA: &'static $crate::engine::store::table::Schema =
                    &$crate::engine::store::table::Schema {
                        name: stringify!($name),
                        columns: &[$($crate::engine::store::table::Column {
                            name: stringify!($column),
                            kind: <$kind as $crate::engine::store::table::Cell>::KIND,
                            optional: <$kind as $crate::engine::store::table::Cell>::OPTIONAL,
                            sealed: <$kind as $crate::engine::store::table::Cell>::SEALED,
                        }),*],
                        key: $key,
                        due: tables!(@due $($due)?),
                        due_of: tables!(@due $($($due_of)?)?),
                    };

                fn values(&self) -> Vec<$crate::engine::store::table::Value> {
                    vec![$($crate::engine::store::table::Cell::value(&self.$column)),*]
                }

                fn of(values: Vec<$crate::engine::store::table::Value>) -> $crate::Result<$row> {
                    let mut values = values.into_iter();
                    $(let $column = $crate::engine::store::table::next(
                        &mut values, [stringify!($name), stringify!($column)])?;)*
                    Ok($row { $($column),* })
                }
            }
        )*

        enum Place {
            $($row),*
        }

        /// Every table.
        pub(in crate::engine) const TABLES: &[&$crate::engine::store::table::Schema] =
            &[$(<$row as $crate::engine::store::table::Row>::SCHEMA),*];

        /// Makes a row of its values, for each of them.
        pub(in crate::engine) const READERS: &[$crate::engine::store::cache::Reader] =
            &[$($crate::engine::store::cache::read::<$row>),*];
    };
    (@due $due:ident) => { Some(stringify!($due)) };
    (@due) => { None };
}

pub(in crate::engine) use tables;
