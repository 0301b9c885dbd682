import { findingLimits } from '../limits.ts'
import { shortText } from '../errors/short-text.ts'

/** A position in an object; formatted only for errors. */
export type Path = {
  readonly parent: Path | null
  /** Member of a struct, key of a map, or index of a list. */
  readonly kind: 'member' | 'key' | 'index'
  readonly step: string | number
}

export function member(parent: Path | null, step: string): Path {
  return { parent, kind: 'member', step }
}

export function mapKey(parent: Path | null, step: string): Path {
  return { parent, kind: 'key', step }
}

export function listIndex(parent: Path | null, step: number): Path {
  return { parent, kind: 'index', step }
}

/**
 * Formats a path for causes: `spec.ports[0].name`, `data[a b]`. Long names and keys are cut, and so
 * is the beginning of a long path.
 */
export function spellPath(path: Path | null): string {
  const steps: string[] = []
  let left: number = findingLimits.pathLengthMax
  for (let at = path; at !== null; at = at.parent) {
    const step = typeof at.step === 'number' ? String(at.step) : cutStep(at.step)
    const text = at.kind !== 'member' ? `[${step}]` : at.parent === null ? step : `.${step}`
    left -= text.length
    if (left < 0) {
      steps.push('...')
      break
    }
    steps.push(text)
  }
  return steps.reverse().join('')
}

/** Cuts one name or key of a path: keys in a request may have megabytes. */
export function cutStep(step: string): string {
  return shortText(step, findingLimits.pathStepLengthMax)
}

/** Formats the path of a value below `at`: members by name, elements by index. */
export function fieldAt(at: Path | null, ...steps: readonly (string | number)[]): string {
  let path = at
  for (const step of steps) path = typeof step === 'number' ? listIndex(path, step) : member(path, step)
  return spellPath(path)
}
