import ts from 'typescript'
import type { Edit, Mutant } from './mutant.ts'

/** A mutant that cannot be made: the program changed and the list did not. */
export class StaleMutant extends Error {
  override readonly name = 'StaleMutant'
}

/** @throws StaleMutant unless each text to be replaced stands in `source` exactly once */
export function mutated(source: string, mutant: Mutant): string {
  return mutant.edits.reduce((text, edit) => replaceOnce(text, edit, mutant), source)
}

function replaceOnce(source: string, { find, replace }: Edit, { id, file }: Mutant): string {
  const count = source.split(find).length - 1
  if (count !== 1) {
    throw new StaleMutant(
      `mutant ${id}: ${file} holds this ${count} times instead of once; bring the list up to date: ${find}`,
    )
  }
  if (find === replace) throw new StaleMutant(`mutant ${id}: it changes nothing`)
  // As a function, so that a dollar sign in the replacement is only that.
  return source.replace(find, () => replace)
}

/**
 * To what runs. Types are taken away and not looked at: a mutant may leave a name unused.
 * @throws StaleMutant when the text is no program
 */
export function compiled(source: string, name: string): string {
  const { outputText, diagnostics = [] } = ts.transpileModule(source, {
    fileName: name,
    reportDiagnostics: true,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
      removeComments: true,
    },
  })
  const [first] = diagnostics
  if (first !== undefined) {
    throw new StaleMutant(`${name}: ${ts.flattenDiagnosticMessageText(first.messageText, ' ')}`)
  }
  return outputText
}
