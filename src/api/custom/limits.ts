/**
 * Limits on custom schemas, so that no definition makes a member slow. Each comment states what
 * happens above the limit.
 */
export const customLimits = Object.freeze({
  /** Nesting depth of schemas. Deeper: the definition is rejected. */
  schemaDepthMax: 64,
  /**
   * Schemas in one version of a definition, junctors included. More: the definition is rejected.
   */
  schemaNodesMax: 50_000,
  /** Characters of one regular expression. Longer: the definition is rejected. */
  patternCharactersMax: 4096,
  /**
   * Estimated work to compile one regular expression, in instructions; large classes of characters
   * count as many. More: the definition is rejected.
   */
  patternSizeMax: 10_000,
  /**
   * The same for all regular expressions of all new versions of a definition together, also the
   * constant ones of rules. More: the definition is rejected. Compiling takes about 0.2 s, and
   * again on each member when the first object arrives.
   */
  patternsSizeMax: 30_000,
  /**
   * Rules of one definition that are expressions, and their characters in all. More: the definition
   * is rejected. Each member compiles them when the first object arrives.
   */
  rulesMax: 1000,
  ruleCharactersMax: 128 * 1024,
  /**
   * Nodes of all expressions of one definition, after macros. More: the definition is rejected.
   * Each takes up to 16 µs to compile, once more when the first object arrives.
   */
  ruleNodesMax: 15_000,
  /**
   * Estimated cost of one expression for all values that it may apply to, and of all expressions of
   * a version, as upstream. More: the definition is rejected.
   */
  ruleCostMax: 10_000_000,
  versionRuleCostMax: 100_000_000,
  /**
   * Cost of all expressions that one write evaluates. When spent: 422. Upstream allows 10 million,
   * which would take the thread for up to 0.8 s.
   */
  writeRuleCostMax: 3_000_000,
  /**
   * Steps of all expressions that one write evaluates, which count the work that the cost leaves
   * out. When spent: 422.
   */
  writeRuleStepsMax: 2_000_000,
  /**
   * Bytes of a message that an expression makes, as upstream. Longer: the fixed message is used.
   */
  ruleMessageBytesMax: 5 * 1024,
  /**
   * Steps for checking one object, or all defaults of one definition: one for each value under each
   * schema that applies to it, for each member of an object and for each required member; more for
   * texts by their length, for elements of sets and maps by their size, for errors of
   * alternatives, and for values that an update compares. A step takes about half a microsecond at
   * most, and all of them about 250 ms (`bench/micro/custom-validation.ts`). An object of 1.5 MB
   * with 20,000 members needs less than a quarter of them. When spent: 422 with a finding that
   * names this limit.
   */
  validationStepsMax: 500_000,
  /**
   * Characters of JSON that defaults may add to one object; each default counts as 32 more, and
   * each value that is looked at as one. When more: 413.
   */
  defaultsCharactersMax: 4 * 1024 * 1024,
  /**
   * Versions of one definition, and printer columns of one version. More: the definition is
   * rejected.
   */
  versionsMax: 64,
  columnsMax: 64,
  /** Characters and steps of a column's path. More: the definition is rejected. */
  columnPathCharactersMax: 1024,
  columnPathStepsMax: 64,
  /** Characters of a cell. More: cut. */
  cellCharactersMax: 4096,
  /** Values that one step of a column's path may select. More: the rest is skipped. */
  columnValuesMax: 1024,
  /**
   * Values that one cell may visit, counted each time, as for nested conditions. More: the cell is
   * empty.
   */
  columnVisitsMax: 50_000,
  /**
   * The limit on visited values for all cells of a row, divided evenly among its columns. Takes
   * about 50 ms.
   */
  rowVisitsMax: 200_000,
})
