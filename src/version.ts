/** Of this program; kept equal to package.json by a test. */
export const programVersion = '0.1.0'
/** Newest apply logic this program knows; members tell it each other, and the log may only use what all of them know. */
export const featureLevel = 1
