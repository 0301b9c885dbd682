/**
 * Limits on expressions, so that no rule of a custom kind makes a member slow. Each comment states
 * what happens above the limit.
 */
export const celLimits = Object.freeze({
  /** Characters of one expression. Longer: a compile error. */
  sourceCharactersMax: 16_384,
  /** Nesting depth of one expression, as written and after macros. Deeper: a compile error. */
  depthMax: 250,
  /** Nodes of one expression after macros. More: a compile error. */
  nodesMax: 10_000,
  /** Errors that one compilation reports. More: the rest is left out. */
  errorsMax: 20,
  /** Characters of one error message. Longer: cut. */
  errorCharactersMax: 1024,
  /** Characters of the source line that an error shows. Longer: cut. */
  snippetCharactersMax: 256,
  /** Runtime cost of one evaluation, as upstream. More: the evaluation is over budget. */
  evaluationCostMax: 1_000_000,
  /**
   * Work of one evaluation that the cost leaves out, such as the elements of large objects that are
   * compared. More: the evaluation is over budget. A step takes at most about 80 ns, and so does a
   * unit of cost: together at most a quarter of a second.
   */
  evaluationStepsMax: 2_000_000,
  /** Characters of one regular expression. Longer: an error. */
  patternCharactersMax: 4096,
  /**
   * Estimated work to compile one regular expression, in instructions; large classes of characters
   * count as many. More: an error.
   */
  patternSizeMax: 10_000,
})
