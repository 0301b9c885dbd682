import fc from 'fast-check'

/**
 * Random values are the same in every run unless SEED is set, so that failures are reproducible.
 */
export const drawn = Number(process.env['SEED'] ?? 1)

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: drawn })

export { fc }
