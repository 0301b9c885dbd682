declare const brand: unique symbol

/**
 * `T` that cannot be confused with another `T`: a term is not an index, an index is not a revision.
 */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name }
