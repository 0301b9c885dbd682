import fc from 'fast-check'

/** What is drawn is the same in every run, unless SEED says otherwise: nothing fails by chance, and each failure comes again. */
export const drawn = Number(process.env['SEED'] ?? 1)

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: drawn })

export { fc }
