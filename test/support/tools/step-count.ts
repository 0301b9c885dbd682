const CALLBACK_METHODS = [
  'every',
  'filter',
  'find',
  'findIndex',
  'findLast',
  'flatMap',
  'forEach',
  'map',
  'reduce',
  'some',
] as const
const SEARCHES = ['includes', 'indexOf', 'lastIndexOf'] as const
const COPIES = ['concat', 'join', 'slice', 'splice', 'toReversed', 'toSorted', 'with'] as const

type AnyMethod = (this: readonly unknown[], ...values: unknown[]) => unknown

/**
 * Counts the elements that methods of arrays, and `Object.keys`, `values` and `entries`, visit
 * while `run` runs: the same number in each run, whatever the machine. Loops and the building of
 * texts are not counted.
 *
 * @param run must not run twice at a time
 */
export async function countSteps(run: () => Promise<void>): Promise<number> {
  let steps = 0
  const prototype = Array.prototype as unknown as Record<string | symbol, AnyMethod>
  const objects = Object as unknown as Record<string, (value: object) => readonly unknown[]>
  const undo: (() => void)[] = []
  const replace = <T>(of: Record<string | symbol, T>, name: string | symbol, make: (own: T) => T): void => {
    const own = of[name] as T
    Object.defineProperty(of, name, {
      value: make(own),
      configurable: true,
      writable: true,
      enumerable: false,
    })
    undo.push(() => {
      Object.defineProperty(of, name, { value: own, configurable: true, writable: true, enumerable: false })
    })
  }
  for (const name of CALLBACK_METHODS) {
    replace(prototype, name, (own) => {
      return function (this: readonly unknown[], ...values: unknown[]): unknown {
        const [callback, ...more] = values as [AnyMethod, ...unknown[]]
        const counted = function (this: unknown, ...inner: unknown[]): unknown {
          steps++
          return Reflect.apply(callback, this, inner)
        }
        return Reflect.apply(own, this, typeof callback === 'function' ? [counted, ...more] : values)
      }
    })
  }
  for (const name of SEARCHES) {
    replace(prototype, name, (own) => {
      return function (this: readonly unknown[], ...values: unknown[]): unknown {
        const found = Reflect.apply(own, this, values)
        steps += typeof found === 'number' && found >= 0 ? found + 1 : this.length
        return found
      }
    })
  }
  for (const name of COPIES) {
    replace(prototype, name, (own) => {
      return function (this: readonly unknown[], ...values: unknown[]): unknown {
        steps += this.length
        return Reflect.apply(own, this, values)
      }
    })
  }
  for (const name of ['keys', 'values', 'entries']) {
    replace(objects, name, (own) => (value) => {
      const found = own(value)
      steps += found.length
      return found
    })
  }
  try {
    await run()
  } finally {
    for (const back of undo.reverse()) back()
  }
  return steps
}
