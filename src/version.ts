/** Of this program; kept equal to package.json by a test. */
export const programVersion = '0.1.0'
/** Newest apply logic this program knows; see decision on feature levels in ARCHITECTURE.md. */
export const featureLevel = 1
