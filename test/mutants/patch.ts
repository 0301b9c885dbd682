import ts from 'typescript'
import type { Edit, Mutant } from './mutant.ts'

/** A mutant that does not apply, because the program changed and the list did not. */
export class StaleMutant extends Error {
  override readonly name = 'StaleMutant'
}

/** @throws StaleMutant unless each text to be replaced occurs exactly once in `source` */
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
  // A function, so that a dollar sign in the replacement has no special meaning.
  return source.replace(find, () => replace)
}

/**
 * Compiles a file without checking types, because a mutant may leave a name unused.
 * @throws StaleMutant when the text has syntax errors
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
