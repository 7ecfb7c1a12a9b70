//! The declaration of a plugin: one macro writes the manifest, the typed table
//! and the exports, so that a name stands in one place.

/// Declares the plugin. The sections come in this order; those marked with ? may
/// be left out:
///
/// ```text
/// name: "kebab-case",
/// version: "1.0.0",
/// description: "for people",                                  ?
/// columns { FIELD: capacity("cpu"), FIELD: devices, … }
/// labels { FIELD: "label-key", … }                            ?
/// domains { FIELD: "label-key", … }                           ?
/// params { FIELD: f64 = 0.5 in 0.0..=1.0, FIELD: symbol, … }  ?
/// choices { FIELD: Type { Variant = "text", … } = "text", … } ?
/// reasons { NAME = 1: "text that people read", … }            ?
/// job_fields { priority: i64, tenant: symbol, … }             ?
/// row_pure: true,                                             ?
/// wants_profile: true,                                        ?
/// loss_range: 0.0, 100.0;                                     ?
/// tie: "seeded",                                              ?
/// filter: function,                                           ?
/// score: function,                  or score_devices: function, ?
/// ```
///
/// Columns: `capacity("D")`, `allocated("D")`, `class`, `taints`, `selectors`,
/// `devices`, `devices("R")`, `device_model`, `device_model("R")`,
/// `running_tasks`, `tenant_tasks`, `job_tasks`, `age`. Types of parameters:
/// `f64`, `i64`, `bool`, `symbol`; a choice is an enum. Without a default the
/// tenant must give the value. Job fields: `priority`, `tasks`, `task_index`,
/// `run_time` as `i64`, `tenant` as `symbol`, `seed` as `u64`.
///
/// It makes, in the crate that it is used in: `Table` with a field for each
/// column and label and with `rows`, `candidates`, `params`, `job`,
/// `job_fields`, `fleet`, `domains` and `profile`; the module `reason`;
/// `dim("cpu")`, the index of a dimension in requests, fleet, domains and
/// profile; `SPEC` for native tests.
///
/// The functions are `fn filter(t: &Table, out: &mut [Reason])`, `fn score(t:
/// &Table, loss: &mut [f64])` and `fn score_devices(t: &Table, loss: &mut [f64],
/// masks: &mut [u32])`.
macro_rules! policy {
    (
        name: $name:literal,
        version: $version:literal,
        $(description: $description:literal,)?
        columns { $($col:ident : $kind:ident $(($arg:literal))?),* $(,)? }
        $(labels { $($label:ident : $key:literal),* $(,)? })?
        $(domains { $($domain:ident : $domain_key:literal),* $(,)? })?
        $(params { $($param:ident : $ptype:ident $(= $default:literal $(in $min:literal ..= $max:literal)?)?),* $(,)? })?
        $(choices { $($choice:ident : $ctype:ident { $($variant:ident = $text:literal),+ $(,)? } $(= $cdefault:literal)?),* $(,)? })?
        $(reasons { $($reason:ident = $code:literal : $reason_text:literal),* $(,)? })?
        $(job_fields { $($field:ident : $ftype:ident),* $(,)? })?
        $(row_pure: $row_pure:literal,)?
        $(wants_profile: $profile:literal,)?
        $(loss_range: $low:literal, $high:literal;)?
        $(tie: $tie:literal,)?
        $(filter: $filter:path,)?
        $(score: $score:path,)?
        $(score_devices: $devices:path,)?
    ) => {
        /// One call: the rows that it asks about, and the blocks.
        pub struct Table<'a> {
            pub rows: usize,
            pub candidates: $crate::poise::Candidates<'a>,
            $(pub $col: $crate::poise::column_type!('a $kind),)*
            $($(pub $label: &'a [$crate::poise::Symbol],)*)?
            pub params: Params,
            pub job: $crate::poise::Job<'a>,
            pub job_fields: JobFields,
            pub fleet: $crate::poise::Fleet<'a>,
            pub domains: Domains<'a>,
            pub profile: $crate::poise::Profile<'a>,
        }

        /// The parameters.
        #[derive(Clone, Copy)]
        pub struct Params {
            $($(pub $param: $crate::poise::param_type!($ptype),)*)?
            $($(pub $choice: $ctype,)*)?
        }

        $($(
            /// A parameter that is one of a few texts.
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $ctype { $($variant),+ }

            impl $crate::poise::Value for $ctype {
                #[inline(always)]
                fn from_bits(bits: u64) -> $ctype {
                    [$($ctype::$variant),+][bits as usize]
                }
            }
        )*)?

        /// The declared fields of the job.
        #[derive(Clone, Copy)]
        pub struct JobFields {
            $($(pub $field: $crate::poise::param_type!($ftype),)*)?
        }

        /// The label keys with counts.
        pub struct Domains<'a> {
            $($(pub $domain: $crate::poise::Domain<'a>,)*)?
            lifetime: core::marker::PhantomData<&'a ()>,
        }

        /// The reasons by name.
        pub mod reason {
            $($(
                #[doc = $reason_text]
                pub const $reason: super::poise::Reason = super::poise::Reason($code);
            )*)?
        }

        impl<'a> Table<'a> {
            /// # Safety
            /// The pointers are those of a call.
            #[inline(always)]
            unsafe fn read(memory: $crate::poise::Memory, table: u32, job: u32) -> Table<'a> {
                #[allow(unused_mut)]
                let mut r = $crate::poise::Reader::new(memory, table, job, SPEC.columns.len() + SPEC.labels.len(), SPEC.params.len());
                Table {
                    rows: r.rows(),
                    candidates: r.candidates(),
                    $($col: r.column($crate::poise::column_kind!($kind)),)*
                    $($($label: r.column($crate::poise::column_kind!(label)),)*)?
                    params: Params { $($($param: r.param(),)*)? $($($choice: r.param(),)*)? },
                    job: r.job(),
                    job_fields: JobFields { $($($field: r.field(),)*)? },
                    fleet: r.fleet(),
                    domains: Domains { $($($domain: r.domain(),)*)? lifetime: core::marker::PhantomData },
                    profile: r.profile(),
                }
            }
        }

        const MANIFEST_TEXT: &str = concat!(
            "{\"name\":", stringify!($name), ",\"version\":", stringify!($version), ",",
            $("\"description\":", stringify!($description), ",",)?
            "\"columns\":[", $("\"", $crate::poise::column_name!($kind $($arg)?), "\",",)* "],",
            $("\"labels\":[", $(stringify!($key), ",",)* "],",)?
            $("\"domains\":[", $(stringify!($domain_key), ",",)* "],",)?
            "\"params\":[",
            $($(
                "{\"name\":\"", stringify!($param), "\",\"type\":\"", stringify!($ptype), "\",",
                $("\"default\":", stringify!($default), ",", $("\"min\":", stringify!($min), ",\"max\":", stringify!($max), ",",)?)?
                "},",
            )*)?
            $($(
                "{\"name\":\"", stringify!($choice), "\",\"type\":\"enum\",",
                $("\"default\":", stringify!($cdefault), ",",)?
                "\"values\":[", $(stringify!($text), ",",)+ "]},",
            )*)?
            "],",
            $("\"reasons\":{", $("\"", stringify!($code), "\":", stringify!($reason_text), ",",)* "},",)?
            $("\"job_fields\":[", $("\"", stringify!($field), "\",",)* "],",)?
            $("\"row_pure\":", stringify!($row_pure), ",",)?
            $("\"wants_profile\":", stringify!($profile), ",",)?
            $($crate::poise::instead!($devices, "\"chooses_devices\":true,"),)?
            $("\"loss_range\":[", stringify!($low), ",", stringify!($high), "],",)?
            $("\"tie\":", stringify!($tie), ",",)?
            "}",
        );

        const MANIFEST: [u8; MANIFEST_TEXT.len()] = $crate::poise::json(MANIFEST_TEXT);

        /// The declaration as data, for native tests.
        pub const SPEC: $crate::poise::Spec = $crate::poise::Spec {
            manifest: &MANIFEST,
            columns: &[$(($crate::poise::column_name!($kind $($arg)?), $crate::poise::column_kind!($kind)),)*],
            column_dims: &[$($crate::poise::column_dim!($kind $($arg)?),)*],
            labels: &[$($($key,)*)?],
            domains: &[$($($domain_key,)*)?],
            params: &[
                $($((stringify!($param), stringify!($ptype), concat!($(stringify!($default))?)),)*)?
                $($((stringify!($choice), "enum", concat!($(stringify!($cdefault))?)),)*)?
            ],
            choices: &[$($(&[$($text),+],)*)?],
            job_fields: &[$($(stringify!($field),)*)?],
        };

        /// The index of a dimension in requests, fleet, domains and profile. In a
        /// `const` it is worked out, and checked, at compile time.
        pub const fn dim(name: &str) -> usize {
            $crate::poise::dim_of(SPEC.column_dims, name)
        }

        #[cfg(target_arch = "wasm32")]
        mod export {
            #[no_mangle]
            extern "C" fn poise_abi_v1() -> i32 {
                0
            }

            #[repr(C)]
            struct Description(&'static [u8; super::MANIFEST_TEXT.len()], usize);

            #[no_mangle]
            extern "C" fn poise_describe() -> *const u8 {
                static DESCRIPTION: Description = Description(&super::MANIFEST, super::MANIFEST_TEXT.len());
                &DESCRIPTION as *const Description as *const u8
            }

            #[no_mangle]
            extern "C" fn poise_alloc(size: u32, align: u32) -> u32 {
                $crate::poise::alloc(size, align)
            }
        }

        $(
            #[cfg(target_arch = "wasm32")]
            #[no_mangle]
            unsafe extern "C" fn poise_filter(table: u32, job: u32, out: u32) -> i32 {
                filter_at($crate::poise::Memory(0), table, job, out)
            }

            #[inline(always)]
            unsafe fn filter_at(memory: $crate::poise::Memory, table: u32, job: u32, out: u32) -> i32 {
                let t = Table::read(memory, table, job);
                let out: &[u32; 4] = memory.at(out);
                $filter(&t, memory.list_mut(out[0], t.rows));
                0
            }

            /// The reasons of a call, natively.
            #[cfg(not(target_arch = "wasm32"))]
            pub fn native_filter(call: &$crate::poise::harness::Call) -> Vec<$crate::poise::Reason> {
                call.run(filter_at).reasons()
            }
        )?

        $(
            #[cfg(target_arch = "wasm32")]
            #[no_mangle]
            unsafe extern "C" fn poise_score(table: u32, job: u32, out: u32) -> i32 {
                score_at($crate::poise::Memory(0), table, job, out)
            }

            #[inline(always)]
            unsafe fn score_at(memory: $crate::poise::Memory, table: u32, job: u32, out: u32) -> i32 {
                let t = Table::read(memory, table, job);
                let out: &[u32; 4] = memory.at(out);
                $score(&t, memory.list_mut(out[0], t.rows));
                0
            }

            /// The losses of a call, natively.
            #[cfg(not(target_arch = "wasm32"))]
            pub fn native_score(call: &$crate::poise::harness::Call) -> Vec<f64> {
                call.run(score_at).losses()
            }
        )?

        $(
            #[cfg(target_arch = "wasm32")]
            #[no_mangle]
            unsafe extern "C" fn poise_score(table: u32, job: u32, out: u32) -> i32 {
                score_devices_at($crate::poise::Memory(0), table, job, out)
            }

            #[inline(always)]
            unsafe fn score_devices_at(memory: $crate::poise::Memory, table: u32, job: u32, out: u32) -> i32 {
                let t = Table::read(memory, table, job);
                let out: &[u32; 4] = memory.at(out);
                $devices(&t, memory.list_mut(out[0], t.rows), memory.list_mut(out[1], t.rows));
                0
            }

            /// The losses and device masks of a call, natively.
            #[cfg(not(target_arch = "wasm32"))]
            pub fn native_score(call: &$crate::poise::harness::Call) -> Vec<(f64, u32)> {
                let answer = call.run(score_devices_at);
                answer.losses().into_iter().zip(answer.masks()).collect()
            }
        )?
    };
}
pub(crate) use policy;

/// The second of two.
macro_rules! instead {
    ($of:path, $text:literal) => { $text };
}
pub(crate) use instead;

/// The Rust type of a column.
macro_rules! column_type {
    ($a:lifetime capacity) => { &$a [f64] };
    ($a:lifetime allocated) => { &$a [f64] };
    ($a:lifetime class) => { &$a [$crate::poise::Symbol] };
    ($a:lifetime taints) => { &$a [u64] };
    ($a:lifetime selectors) => { &$a [u64] };
    ($a:lifetime devices) => { $crate::poise::Devices<$a> };
    ($a:lifetime device_model) => { &$a [$crate::poise::Symbol] };
    ($a:lifetime running_tasks) => { &$a [u32] };
    ($a:lifetime tenant_tasks) => { &$a [u32] };
    ($a:lifetime job_tasks) => { &$a [u32] };
    ($a:lifetime age) => { &$a [f64] };
}
pub(crate) use column_type;

/// The kind of a column in its descriptor.
macro_rules! column_kind {
    (capacity) => { 1 };
    (allocated) => { 2 };
    (class) => { 3 };
    (label) => { 4 };
    (taints) => { 5 };
    (selectors) => { 6 };
    (devices) => { 7 };
    (device_model) => { 8 };
    (running_tasks) => { 9 };
    (tenant_tasks) => { 10 };
    (job_tasks) => { 11 };
    (age) => { 12 };
}
pub(crate) use column_kind;

/// The name of a column in the manifest.
macro_rules! column_name {
    ($kind:ident) => { stringify!($kind) };
    ($kind:ident $arg:literal) => { concat!(stringify!($kind), ":", $arg) };
}
pub(crate) use column_name;

/// The dimension that a column names.
macro_rules! column_dim {
    (capacity $arg:literal) => { $arg };
    (allocated $arg:literal) => { $arg };
    ($kind:ident $($arg:literal)?) => { "" };
}
pub(crate) use column_dim;

/// The Rust type of a parameter or a field of the job.
macro_rules! param_type {
    (symbol) => { $crate::poise::Symbol };
    ($type:ident) => { $type };
}
pub(crate) use param_type;
