import type { Structural, ValidationRule } from '../structural.ts'
import { compileRule } from './compile-rule.ts'
import type { CompiledRule } from './compile-rule.ts'
import { declaredType } from './declared-type.ts'
import type { Declared } from './declared-type.ts'

/** The rules of a schema and of those inside of it; schemas without rules are left out. */
export type RuleNode = {
  readonly schema: Structural
  readonly rules: readonly LazyRule[]
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly additional: RuleNode | null
  readonly items: RuleNode | null
  /** The rules of `allOf`, about the same value. */
  readonly allOf: readonly RuleNode[]
}

/** A rule that is compiled at its first use: most objects have only some of the fields. */
export type LazyRule = {
  readonly rule: ValidationRule
  readonly compiled: () => CompiledRule
}

/** @returns null: no schema has a rule */
export function compileRules(root: Structural): RuleNode | null {
  if (!hasRules(root)) return null
  return compiled(root, root, declaredType(root, 'selfType', true))
}

/** Returns whether a schema or one inside of it has rules. Linear in its size. */
export function hasRules({ validations, properties, additional, items, rules }: Structural): boolean {
  if (validations.length > 0) return true
  if (items !== null && hasRules(items)) return true
  if (typeof additional === 'object' && additional !== null && hasRules(additional)) return true
  for (const property of properties.values()) if (hasRules(property)) return true
  return rules.allOf.some(hasRules)
}

/**
 * @param own has the rules: the schema itself, or one in its `allOf`
 * @param schema of the values
 * @param declared null: expressions cannot see values of the schema
 */
function compiled(own: Structural, schema: Structural, declared: Declared | null): RuleNode | null {
  if (declared === null || !hasRules(own)) return null
  const inside = (
    ownPart: Structural | undefined,
    part: Structural,
    type: Declared | null,
  ): RuleNode | null => (ownPart === undefined ? null : compiled(ownPart, part, type))
  const properties = new Map<string, RuleNode>()
  for (const [name, part] of schema.properties) {
    const node = inside(own.properties.get(name), part, declared.properties.get(name) ?? null)
    if (node !== null) properties.set(name, node)
  }
  const { additional, items } = schema
  const node: RuleNode = {
    schema,
    rules: own.validations.map((rule) => lazyRule(rule, declared, schema)),
    properties,
    additional: isSchema(additional) ? inside(schemaOf(own.additional), additional, declared.element) : null,
    items: items === null ? null : inside(own.items ?? undefined, items, declared.element),
    allOf: own.rules.allOf.flatMap((part) => compiled(part, schema, declared) ?? []),
  }
  return isEmpty(node) ? null : node
}

function lazyRule(rule: ValidationRule, declared: Declared, schema: Structural): LazyRule {
  let made: CompiledRule | null = null
  return {
    rule,
    compiled: () => {
      made ??= compileRule(rule, declared, schema)
      return made
    },
  }
}

function isSchema(additional: Structural['additional']): additional is Structural {
  return typeof additional === 'object' && additional !== null
}

function schemaOf(additional: Structural['additional']): Structural | undefined {
  return isSchema(additional) ? additional : undefined
}

function isEmpty({ rules, properties, additional, items, allOf }: RuleNode): boolean {
  return rules.length + properties.size + allOf.length === 0 && additional === null && items === null
}
