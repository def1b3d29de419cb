//! How many heredocs the parser found. Heredocs are where shell parsers go wrong, and a wrong end
//! turns data into code; so its reading is compared with our own scan, and disagreement is a doubt.

use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item, CompoundCommand as Compound};

pub(crate) fn count(program: &ast::Program) -> usize {
    program.complete_commands.iter().map(list).sum()
}

fn list(list: &ast::CompoundList) -> usize {
    list.0
        .iter()
        .map(|ast::CompoundListItem(and_or, _)| {
            let rest = and_or.additional.iter().map(|next| match next {
                ast::AndOr::And(next) | ast::AndOr::Or(next) => pipeline(next),
            });
            pipeline(&and_or.first) + rest.sum::<usize>()
        })
        .sum()
}

fn pipeline(pipeline: &ast::Pipeline) -> usize {
    pipeline.seq.iter().map(command).sum()
}

fn command(command: &ast::Command) -> usize {
    match command {
        ast::Command::Simple(simple) => {
            let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
            let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
            prefix.chain(suffix).map(item).sum()
        }
        ast::Command::Compound(inner, redirects) => compound(inner) + redirections(redirects.as_ref()),
        ast::Command::Function(function) => {
            compound(&function.body.0) + redirections(function.body.1.as_ref())
        }
        ast::Command::ExtendedTest(_, redirects) => redirections(redirects.as_ref()),
    }
}

fn item(item: &Item) -> usize {
    match item {
        Item::IoRedirect(redirect) => redirection(redirect),
        Item::ProcessSubstitution(_, inner) => list(&inner.list),
        Item::Word(_) | Item::AssignmentWord(..) => 0,
    }
}

fn redirections(redirects: Option<&ast::RedirectList>) -> usize {
    redirects.map_or(0, |redirects| redirects.0.iter().map(redirection).sum())
}

fn redirection(redirect: &ast::IoRedirect) -> usize {
    match redirect {
        ast::IoRedirect::HereDocument(..) => 1,
        ast::IoRedirect::File(_, _, ast::IoFileRedirectTarget::ProcessSubstitution(_, inner)) => {
            list(&inner.list)
        }
        ast::IoRedirect::File(..) | ast::IoRedirect::HereString(..) | ast::IoRedirect::OutputAndError(..) => {
            0
        }
    }
}

fn compound(compound: &ast::CompoundCommand) -> usize {
    match compound {
        Compound::Arithmetic(_) => 0,
        Compound::ArithmeticForClause(inner) => list(&inner.body.list),
        Compound::BraceGroup(inner) => list(&inner.list),
        Compound::Subshell(inner) => list(&inner.list),
        Compound::ForClause(inner) => list(&inner.body.list),
        Compound::CaseClause(inner) => {
            inner.cases.iter().filter_map(|case| case.cmd.as_ref()).map(list).sum()
        }
        Compound::IfClause(inner) => {
            let elses = inner.elses.iter().flatten();
            let elses = elses.map(|other| other.condition.as_ref().map_or(0, list) + list(&other.body));
            list(&inner.condition) + list(&inner.then) + elses.sum::<usize>()
        }
        Compound::WhileClause(inner) | Compound::UntilClause(inner) => list(&inner.0) + list(&inner.1.list),
        Compound::Coprocess(inner) => command(&inner.body),
    }
}
