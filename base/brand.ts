declare const brand: unique symbol

/** `T` that cannot be confused with another `T`: a term is no index, an index is no revision. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name }
